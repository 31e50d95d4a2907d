"""Many margins at once: Fourier, Efron-Stein, independent noise and the optimum, and advice between them."""
