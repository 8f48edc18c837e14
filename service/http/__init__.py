"""What stands around every request, whichever view answers it: who may ask, how often, what is logged and sent back."""
