"""Where things live on disk: datasets and their versions, the secret, options, the demo."""
