# Writes the references of test_weights.py and test_population.py: Rscript references.R FOLDER, where FOLDER has the
# files that designs.write makes. Needs the packages survey, lme4 and jsonlite; the tests need none of them.
library(survey); library(lme4); library(jsonlite)
folder <- commandArgs(TRUE)[1]
read <- function(name) read.csv(file.path(folder, name), stringsAsFactors = FALSE, na.strings = "NA")
out <- list()
genders <- data.frame(gender = c("f", "m"), Freq = c(0.52, 0.48))
ages <- data.frame(age = c("young", "middle", "old"), Freq = c(0.3, 0.4, 0.3))
totals <- function(margin, n) transform(margin, Freq = Freq * n)
per_rater <- function(answers) {
  means <- aggregate(value ~ rater, answers, mean)
  traits <- unique(answers[, c("rater", "gender", "age", "base")])
  merge(means, traits)[, c("rater", "value", "gender", "age", "base")]
}
estimate <- function(design, by = ~value) { m <- svymean(by, design); list(mean = unname(coef(m)[1]), se = unname(SE(m))[1]) }
answers <- read("plain.csv"); raters <- per_rater(answers); n <- nrow(raters)
equal <- svydesign(ids = ~1, weights = rep(1, n), data = raters)
based <- svydesign(ids = ~1, weights = ~base, data = raters)
jk <- function(design) as.svrepdesign(design, type = "JK1")
rake2 <- function(design, n) rake(design, list(~gender, ~age), list(totals(genders, n), totals(ages, n)), control = list(maxit = 500, epsilon = 1e-12))
scaled <- function(w) as.numeric(w / mean(w))
out$fixed <- c(estimate(based), list(jackknife = estimate(jk(based))$se))
out$raked <- c(estimate(rake2(jk(equal), n)), list(weights = scaled(weights(rake2(equal, n))), linear = estimate(rake2(equal, n))$se))
out$from_base <- c(estimate(rake2(jk(based), sum(raters$base))), list(weights = scaled(weights(rake2(based, sum(raters$base))))))
one <- function(design) rake(design, list(~gender), list(totals(genders, n)))
out$one_margin <- c(estimate(one(jk(equal))), list(weights = scaled(weights(one(equal)))))
joint <- expand.grid(gender = c("f", "m"), age = c("young", "middle", "old"), stringsAsFactors = FALSE)
joint$Freq <- n * c(0.16, 0.14, 0.21, 0.19, 0.15, 0.15)
cells <- function(design) postStratify(design, ~gender + age, joint)
out$joint <- c(estimate(cells(jk(equal))), list(weights = scaled(weights(cells(equal)))))
women <- svyby(~value, ~gender, rake2(jk(equal), n), svymean)
out$group <- list(mean = women$value[women$gender == "f"], se = women$se[women$gender == "f"])
first <- answers[answers$item == "i3", ]
shares <- svydesign(ids = ~1, weights = ~base, data = first)
out$share <- c(estimate(shares), list(jackknife = estimate(jk(shares))$se))
raters <- per_rater(read("missing.csv")); raters$age[is.na(raters$age) | raters$age == ""] <- "unknown"
n <- nrow(raters); unknown <- mean(raters$age == "unknown")
ages <- data.frame(age = c("young", "middle", "old", "unknown"), Freq = c(0.3 * (1 - unknown), 0.4 * (1 - unknown), 0.3 * (1 - unknown), unknown))
equal <- svydesign(ids = ~1, weights = rep(1, n), data = raters)
out$missing <- list(weights = scaled(weights(rake2(equal, n))), mean = estimate(rake2(equal, n))$mean)

answers <- read("large.csv")
answers$cell <- paste(answers$gender, answers$age)
fit <- glmer(value ~ 1 + (1 | item) + (1 | rater) + (1 | gender) + (1 | age) + (1 | gender:age) + (1 | item:gender) + (1 | item:age),
             family = binomial, data = answers, control = glmerControl(optimizer = "bobyqa", optCtrl = list(maxfun = 2e5)))
# People of a cell differ: their answers are averaged over raters' effects, on nodes of a normal distribution.
poststratified <- function(fit, shares) {
  sd <- attr(VarCorr(fit)$rater, "stddev"); z <- seq(-8, 8, length.out = 4001); density <- dnorm(z) / sum(dnorm(z))
  r <- ranef(fit); g <- function(f, l) { x <- r[[f]]; if (is.null(x) || !(l %in% rownames(x))) 0 else x[l, 1] }
  items <- rownames(r$item)
  sapply(items, function(i) sum(sapply(seq_len(nrow(shares)), function(k) {
    gender <- shares$gender[k]; age <- shares$age[k]
    eta <- fixef(fit)[1] + g("item", i) + g("gender", gender) + g("age", age) + g("gender:age", paste(gender, age, sep = ":")) +
      g("item:gender", paste(i, gender, sep = ":")) + g("item:age", paste(i, age, sep = ":"))
    shares$share[k] * sum(plogis(eta + sd * z) * density)
  })))
}
joint$share <- joint$Freq / sum(joint$Freq)
p <- poststratified(fit, joint)
out$population <- list(items = as.list(p), mean = mean(p), sd = as.list(sapply(VarCorr(fit), function(v) unname(attr(v, "stddev")))))
sparse <- subset(answers, !(gender == "f" & age == "old"))
fit <- glmer(value ~ 1 + (1 | item) + (1 | rater) + (1 | gender) + (1 | item:gender), family = binomial, data = sparse,
             control = glmerControl(optimizer = "bobyqa", optCtrl = list(maxfun = 2e5)))
p <- poststratified(fit, data.frame(gender = c("f", "m"), age = "", share = c(0.52, 0.48)))
out$one_trait <- list(items = as.list(p), mean = mean(p), sd = as.list(sapply(VarCorr(fit), function(v) unname(attr(v, "stddev")))))
write_json(out, file.path(folder, "references.json"), auto_unbox = TRUE, digits = 10)
