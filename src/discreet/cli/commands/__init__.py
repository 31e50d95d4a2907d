"""The commands of `discreet`. A module is named as its command and declares `COMMAND`, or `COMMANDS` by name."""

#: Commands that are in the module of a related command.
SHARED = {
    "budget": "ledger",
    "check": "load",
    "compare": "versions",
    "interval": "test",
    "methodology": "datasets",
    "move": "backup",
    "move-engine": "backup",
    "public-key": "publish",
    "relabel": "versions",
    "remove": "versions",
    "restore": "backup",
    "secret": "account",
    "try": "demo",
    "use": "versions",
    "verify": "doctor",
}
