"""The best parents of each variable among those before it in a given order: K3, Suzuki's B&B_D, Tian's DFBnB_K3."""
