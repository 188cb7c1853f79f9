"""The programs of a GPU: their catalogue, their machine code, and the memory of their launches."""
