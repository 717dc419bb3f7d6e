"""What runs: sockets, workers, and the turn on its way from the loop to the screen."""
