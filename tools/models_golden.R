# Called by tools/models_golden.py with the folder of the tables; prints estimates as JSON.
suppressMessages({library(lme4); library(ordinal)})
options(contrasts = c("contr.sum", "contr.poly"))
folder <- commandArgs(TRUE)[1]
tight <- lmerControl(optCtrl = list(xtol_abs = 1e-10, ftol_abs = 1e-12))
quoted <- function(values) paste(sprintf('"%s": %.8f', names(values), values), collapse = ", ")
told <- function(name, fit, residual) {
  parts <- as.data.frame(VarCorr(fit))
  variances <- setNames(parts$vcov, sub("Residual", "residual", parts$grp))
  table <- coef(summary(fit))
  sprintf('  "%s": {"variance": {%s}, "log_likelihood": %.6f, "fixed": {%s}, "errors": {%s}}', name, quoted(variances),
          as.numeric(logLik(fit)), quoted(setNames(table[, 1], rownames(table))), quoted(setNames(table[, 2], rownames(table))))
}
rows <- c()
wc <- read.csv(file.path(folder, "wcsent.csv"))
for (question in sort(unique(wc$question))) {
  data <- wc[wc$question == question, ]
  rows <- c(rows, told(question, lmer(value ~ 1 + (1 | item) + (1 | rater), data, control = tight)))
}
data <- wc[wc$question == "trust", ]
fit <- clmm(factor(value, ordered = TRUE) ~ 1 + (1 | item) + (1 | rater), data = data.frame(lapply(data, function(x) if (is.character(x)) factor(x) else x)))
rows <- c(rows, sprintf('  "trust_ordinal": {"variance": {"item": %.8f, "rater": %.8f}, "log_likelihood": %.6f, "thresholds": [%s], "errors": [%s]}',
  fit$ST$item[1]^2, fit$ST$rater[1]^2, as.numeric(logLik(fit)), paste(sprintf("%.8f", fit$alpha), collapse = ", "),
  paste(sprintf("%.8f", sqrt(diag(vcov(fit)))[seq_along(fit$alpha)]), collapse = ", ")))
mp <- read.csv(file.path(folder, "multipico.csv"))
ages <- unique(mp[, c("rater", "age")])$age
mp$age <- (mp$age - mean(ages)) / sd(ages)
mp$gender <- factor(mp$gender)
rows <- c(rows, told("multipico", lmer(value ~ gender + age + (1 | item) + (1 | rater), mp, control = tight)))
rows <- c(rows, told("multipico_interaction", lmer(value ~ gender + age + (1 | item) + (1 | item:gender) + (1 | rater), mp, control = tight)))
rows <- c(rows, told("multipico_binary", glmer(value ~ gender + age + (1 | item) + (1 | rater), mp, family = binomial)))
yes <- read.csv(file.path(folder, "rasch.csv"))
yes$rater <- factor(yes$rater)
rows <- c(rows, told("rasch", glmer(value ~ 0 + rater + (1 | item), yes, family = binomial, nAGQ = 15)))
cat("{\n", paste(rows, collapse = ",\n"), "\n}\n", sep = "")
