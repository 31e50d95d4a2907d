"""What the page of benchmarks claims, measured next to other programs: one module a part, which exports `PART`."""
