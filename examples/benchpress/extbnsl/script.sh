#!/usr/bin/env bash
# Benchpress runs this with the names of files in snakemake_input and snakemake_output, and what its JSON says in
# snakemake_wildcards. It writes the matrix of the arcs and the seconds that the solve took; where there is no network in
# time, an empty matrix and None, as other modules do.
set -euo pipefail

data=${snakemake_input[data]}
matrix=${snakemake_output[adjmat]}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

options=(--score "${snakemake_wildcards[score]}" --threads "${snakemake[threads]:-1}" --quiet)
case ${snakemake_wildcards[score]} in
    gaussian-bic) cp "$data" "$scratch/data.csv" ;;
    *) # the second line has the numbers of levels
        head -n 2 "$data" > "$scratch/arities.csv"
        sed 2d "$data" > "$scratch/data.csv"
        options+=(--arities "$scratch/arities.csv")
        ;;
esac
[ "${snakemake_wildcards[ess]}" = None ] || options+=(--ess "${snakemake_wildcards[ess]}")
[ "${snakemake_wildcards[max_parents]}" = None ] || options+=(--max-parents "${snakemake_wildcards[max_parents]}")
[ "${snakemake_wildcards[timeout]}" = None ] || options+=(--time-limit "${snakemake_wildcards[timeout]}")

begun=$EPOCHREALTIME
code=0
extbnsl solve "$scratch/data.csv" "${options[@]}" --run-dir "$scratch/run" || code=$?
ended=$EPOCHREALTIME
case $code in
    0 | 10) # proved, or the best network at the limit
        extbnsl export "$scratch/run" --format adjacency --output - > "$matrix"
        awk -v begun="$begun" -v ended="$ended" 'BEGIN { print ended - begun }' > "${snakemake_output[time]}"
        ;;
    20) # no network in time
        : > "$matrix"
        echo None > "${snakemake_output[time]}"
        ;;
    *) exit "$code" ;;
esac
