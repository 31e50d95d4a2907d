"""The commands: one module each, named as the command. `discreet.cli.registry` finds them."""
