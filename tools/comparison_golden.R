# Comparisons by lmerTest, for tests/measures/models/comparison_golden.json.
# Rscript tools/comparison_golden.R FOLDER, where FOLDER holds the tables of tests/measures/models/reference_tables.py as CSV.
suppressMessages(library(lmerTest))
folder <- commandArgs(TRUE)[1]
table <- function(name) {
  read <- read.csv(file.path(folder, paste0(name, ".csv")))
  for (column in intersect(c("item", "rater", "source"), names(read))) read[[column]] <- factor(read[[column]])
  if ("level" %in% names(read)) { read$second <- read$level; read$first <- 1 - read$level; read$half <- read$level - 0.5; read$level <- factor(read$level) }
  if ("number" %in% names(read)) read$standard <- (read$number - mean(read$number)) / sd(read$number)
  read
}
how <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-9))
stated <- function(name, formula, term) {
  fit <- lmer(formula, table(name), control = how)
  row <- summary(fit)$coefficients[term, ]
  cat(sprintf('"%s": {"estimate": %.8f, "error": %.8f, "freedom": %.5f, "p": %.8g, "deviance": %.6f},\n',
              name, row[1], row[2], row[3], row[5], -2 * as.numeric(logLik(fit))))
}
stated("within", value ~ level + (1 | item) + (1 | item:level) + (1 | rater) + (1 | rater:level) + (1 | item:rater), "level1")
stated("within", value ~ half + (1 + half || item) + (1 + half || rater) + (1 | item:rater), "half")  # the same model
stated("sources", value ~ level + (0 + first | source) + (0 + second | source) + (0 + first | item) + (0 + second | item) +
         (1 | rater) + (1 | rater:level), "level1")
stated("unequal", value ~ level + (0 + first | rater) + (0 + second | rater) + (1 | item) + (1 | item:level), "level1")
stated("number", value ~ number + (1 | rater) + (1 | item) + (0 + standard | item), "number")
