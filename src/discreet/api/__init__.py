"""The Python interface: `discreet.open(folder)` returns a `Catalogue`, whose tables are `Table`s."""
