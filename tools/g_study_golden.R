# Golden values of tests/measures/audits/test_g_study.py: REML components of two-facet designs from lme4.
# Debian: apt-get install r-base-core r-cran-lme4. Run: Rscript tools/g_study_golden.R > tests/measures/variance/g_study_golden.json
# The first table is that of Gleser, Cronbach and Rajaratnam (1965); the others are made by the same congruential
# generator in R and in the test, so that no data are stored.
suppressMessages(library(lme4))
draws <- function(n, seed) {  # uniform numbers of Park and Miller (1988)
  x <- seed; out <- numeric(n)
  for (i in seq_len(n)) { x <- (16807 * x) %% 2147483647; out[i] <- x / 2147483647 }
  out
}
normals <- function(n, seed) qnorm(draws(n, seed))
made <- function(items, orders, wordings, keep, seed) {
  full <- expand.grid(wording = seq_len(wordings), order = seq_len(orders), item = seq_len(items))
  item <- normals(items, seed + 1); order <- 0.4 * normals(orders, seed + 2); wording <- 0.3 * normals(wordings, seed + 3)
  io <- 0.6 * normals(items * orders, seed + 4); iw <- 0.5 * normals(items * wordings, seed + 5)
  ow <- 0.3 * normals(orders * wordings, seed + 6); noise <- 0.7 * normals(nrow(full), seed + 7)
  full$y <- item[full$item] + order[full$order] + wording[full$wording] + io[(full$item - 1) * orders + full$order] +
    iw[(full$item - 1) * wordings + full$wording] + ow[(full$order - 1) * wordings + full$wording] + noise
  full[draws(nrow(full), seed) < keep, ]
}
fitted <- function(data) {
  fit <- lmer(y ~ 1 + (1 | item) + (1 | order) + (1 | wording) + (1 | item:order) + (1 | item:wording) + (1 | order:wording),
              data, REML = TRUE, control = lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e5)))
  parts <- as.data.frame(VarCorr(fit))
  setNames(parts$vcov, gsub(":", " × ", sub("Residual", "residual", parts$grp)))
}
gleser <- matrix(c(
  0,0,2,1,2,0,2,1,1,1,1,2, 0,0,2,1,2,0,1,2,2,1,2,1, 0,0,1,1,3,3,2,1,2,1,1,2, 2,0,2,1,2,2,2,1,2,1,4,1,
  0,0,1,2,2,0,2,3,3,3,3,3, 2,0,2,1,2,0,4,1,3,3,3,1, 0,1,3,1,3,1,3,4,2,2,2,3, 0,0,0,1,4,3,3,4,2,3,3,3,
  1,2,2,1,3,6,1,3,2,3,2,1, 0,1,2,4,3,3,2,2,3,5,3,1, 3,4,2,2,3,2,4,5,3,3,5,5, 1,1,2,4,4,4,3,3,4,6,6,6), 12, 12, byrow = TRUE)
first <- data.frame(y = as.vector(t(gleser)), item = rep(1:12, each = 12), wording = rep(rep(1:6, each = 2), 12), order = rep(1:2, 72))
cases <- list(c(40, 2, 3, 1.0, 11), c(60, 3, 4, 0.6, 23), c(80, 2, 4, 0.5, 37))
rows <- c()
named <- function(values) paste(sprintf('"%s": %.10f', names(values), values), collapse = ", ")
rows <- c(rows, sprintf('  {"case": "gleser", "variance": {%s}}', named(fitted(first))))
for (case in cases) {
  data <- made(case[1], case[2], case[3], case[4], case[5])
  rows <- c(rows, sprintf('  {"case": [%s], "answers": %d, "variance": {%s}}', paste(case, collapse = ", "), nrow(data), named(fitted(data))))
}
cat("[\n", paste(rows, collapse = ",\n"), "\n]\n", sep = "")
