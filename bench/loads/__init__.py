"""What is asked: the loads by name, and the programs that send them."""
