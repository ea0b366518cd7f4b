"""④ Rules over signals → findings."""
