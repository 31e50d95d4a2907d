"""May this be asked? Answers with a reason and advice."""
