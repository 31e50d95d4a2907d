"""May this be asked, may this be shown? Answers with a reason and advice, and never sees a true count."""
