"""How fast and how large: solves of whole data sets, measured from outside. See README.md."""
