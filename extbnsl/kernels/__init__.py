"""What all kernels are made of: the compiler and its cache, bits, varsets and their ranks, hashing, random numbers."""
