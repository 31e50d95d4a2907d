"""The Python face: `discreet.open(folder)` gives a `Catalogue`, whose tables are `Table`s."""
