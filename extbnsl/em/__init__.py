"""Expectation: a network completes the values that data lack, so that the best network of the completed data can be
found (Friedman 1997, *Learning belief networks in the presence of missing values and hidden variables*, ICML; 1998,
*The Bayesian structural EM algorithm*, UAI).

A network with its parameters says how likely each completion of a record is, given what is observed of it. The
expected cost of a network is what it costs on average over these completions. Its minimum is that of ordinary data in
which every record is several rows, each of which counts for a part of it (`Data.each`). So the M step of EM is an
ordinary solve. What the observed values cost by the new network with its parameters is no more than before, since the
expected cost fell by no less (Dempster, Laird and Rubin 1977).

`model` says what a kind of data has to do for that, `states` and `numbers` do it, and `expectation` knows which.
"""
