# From a data frame of R to the best network, as bnlearn has it: Rscript from_r.R [COMMAND OF EXTBNSL]
# Needs bnlearn and jsonlite. `learn` is what to copy.

library(bnlearn)
library(jsonlite)

learn <- function(data, ..., command = "extbnsl") {
  folder <- tempfile("extbnsl")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  file <- file.path(folder, "data.csv")
  run <- file.path(folder, "run")
  write.csv(data, file, row.names = FALSE)
  code <- system2(command, c("solve", shQuote(file), "--run-dir", shQuote(run), "--quiet", ...), stdout = FALSE)
  if (!code %in% c(0, 10)) stop("extbnsl ended with code ", code)
  result <- fromJSON(file.path(run, "result.json"), simplifyVector = FALSE)
  network <- empty.graph(names(data))
  pairs <- do.call(rbind, lapply(names(result$parents), function(child) {
    parents <- unlist(result$parents[[child]])
    if (length(parents) > 0) cbind(from = parents, to = child)
  }))
  if (!is.null(pairs)) arcs(network) <- pairs
  list(network = network, proved = code == 0, cost = result$cost)
}

given <- commandArgs(trailingOnly = TRUE)
data(asia)
best <- learn(asia, command = if (length(given) > 0) given[1] else "extbnsl")
climbed <- hc(asia)
cat("proved:", best$proved, "\n")
cat("extbnsl:", format(score(best$network, asia, type = "bic"), digits = 10), "\n")
cat("hc:", format(score(climbed, asia, type = "bic"), digits = 10), "\n")
stopifnot(isTRUE(all.equal(score(best$network, asia, type = "bic"), -best$cost, tolerance = 1e-6)))
print(arc.strength(best$network, asia, criterion = "bic"))
print(bn.fit(best$network, asia)$dysp)
