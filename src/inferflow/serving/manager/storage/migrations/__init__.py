"""How the schema came about. Steps are added at the end and never edited once released."""
