"""What is looked for beyond the problems of translation, one module for each thing that rules are about."""
