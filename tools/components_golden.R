# Golden values of tests/measures/variance/test_reml.py: REML components of incomplete tables from lme4.
# Debian: apt-get install r-base-core r-cran-lme4. Run: Rscript tools/components_golden.R > tests/measures/variance/reml_golden.json
# The tables are made by the same congruential generator in R and in the test, so that no data are stored.
suppressMessages(library(lme4))
draws <- function(n, seed) {  # uniform numbers of Park and Miller (1988)
  x <- seed; out <- numeric(n)
  for (i in seq_len(n)) { x <- (16807 * x) %% 2147483647; out[i] <- x / 2147483647 }
  out
}
normals <- function(n, seed) qnorm(draws(n, seed))
made <- function(items, raters, keep, repeats, seed) {
  full <- expand.grid(sample = seq_len(repeats), rater = seq_len(raters), item = seq_len(items))
  full <- full[order(full$item, full$rater, full$sample), ]
  kept <- draws(items * raters, seed)[(full$item - 1) * raters + full$rater] < keep
  item <- normals(items, seed + 1); rater <- 0.6 * normals(raters, seed + 2)
  cell <- 0.5 * normals(items * raters, seed + 3); noise <- 0.8 * normals(nrow(full), seed + 4)
  full$y <- item[full$item] + rater[full$rater] + (repeats > 1) * cell[(full$item - 1) * raters + full$rater] + noise
  full$y <- round(2 * full$y)
  full[kept, ]
}
cases <- list(c(40, 12, 0.4, 1, 11), c(100, 30, 0.15, 1, 23), c(25, 8, 0.7, 3, 37), c(60, 6, 1.0, 1, 41))
rows <- c()
for (case in cases) {
  data <- made(case[1], case[2], case[3], case[4], case[5])
  formula <- if (case[4] > 1) y ~ 1 + (1 | item) + (1 | rater) + (1 | item:rater) else y ~ 1 + (1 | item) + (1 | rater)
  fit <- lmer(formula, data, REML = TRUE, control = lmerControl(optCtrl = list(xtol_abs = 1e-10, ftol_abs = 1e-12)))
  parts <- as.data.frame(VarCorr(fit))
  values <- setNames(parts$vcov, sub("item:rater", "item × rater", sub("Residual", "residual", parts$grp)))
  named <- paste(sprintf('"%s": %.10f', names(values), values), collapse = ", ")
  rows <- c(rows, sprintf('  {"case": [%s], "answers": %d, "variance": {%s}}', paste(case, collapse = ", "), nrow(data), named))
}
cat("[\n", paste(rows, collapse = ",\n"), "\n]\n", sep = "")
