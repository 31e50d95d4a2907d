# The numbers of R survey for tests/release/test_design_errors.py, as JSON on standard output.
#   python tests/release/test_design_errors.py silc.csv && Rscript tests/oracles/r_survey.R silc.csv > tests/oracles/r_survey.json
suppressMessages(library(survey))
options(survey.lonely.psu = "adjust", survey.replicates.mse = TRUE)
d <- read.csv(commandArgs(TRUE)[1], colClasses = c(region = "character", sex = "character", poor = "character"))
columns <- function(stem) as.matrix(d[, grep(paste0("^", stem, "[0-9]+$"), names(d))])
for (r in unique(d$region)) d[[paste0("in", r)]] <- as.numeric(d$region == r)
d$all <- 1
d$woman <- as.numeric(d$sex == "2")
d$man <- 1 - d$woman
d$ispoor <- as.numeric(d$poor == "1")
d$fraction <- ifelse(d$region == "R1", 0.2, 0.05)
# The difference of two shares is a function of four totals.
d$poor1 <- d$ispoor * d$inR1
d$poor2 <- d$ispoor * d$inR2

rep_design <- function(stem, ...) svrepdesign(weights = ~w, repweights = columns(stem), data = d, combined.weights = TRUE, ...)
designs <- list(
  none = svydesign(id = ~1, weights = ~w, data = d),
  fpc = svydesign(id = ~1, weights = ~w, data = d, fpc = rep(0.05, nrow(d))),
  strata = svydesign(id = ~1, strata = ~stratum, weights = ~w, data = d),
  clusters = svydesign(id = ~household, weights = ~w, data = d),
  households = svydesign(id = ~household, strata = ~stratum, weights = ~w, data = d, nest = TRUE),
  psus = svydesign(id = ~psu, strata = ~stratum, weights = ~w, data = d, nest = TRUE),
  regions = svydesign(id = ~household, strata = ~region, weights = ~w, data = d, nest = TRUE, fpc = ~fraction),
  lonely = svydesign(id = ~psu, strata = ~lonely, weights = ~w, data = d, nest = TRUE),
  jk1 = rep_design("jk", type = "JK1", scale = 19 / 20),
  jkn = rep_design("jn", type = "JKn", scale = 1, rscales = rep(0.5, 24)),
  brr = rep_design("br", type = "BRR"),
  fay = rep_design("fa", type = "Fay", rho = 0.3),
  bootstrap = rep_design("bo", type = "bootstrap")
)
pair <- function(name, x) sprintf('    "%s": [%.10g, %.10g]', name, as.numeric(coef(x))[1], as.numeric(SE(x))[1])
one <- function(s) c(
  pair("R1,_T", svytotal(~inR1, s)),
  pair("_T,2", svytotal(~woman, s)),
  pair("_T,_T", svytotal(~all, s)),
  pair("R1,2", svytotal(~I(inR1 * woman), s)),
  pair("R4,1", svytotal(~I(inR4 * man), s)),
  pair("R1,_T / _T,_T", svymean(~inR1, s)),
  pair("R1,2 / R1,_T", svyratio(~I(inR1 * woman), ~inR1, s)),
  pair("R1,1 / R2,2", svyratio(~I(inR1 * man), ~I(inR2 * woman), s)),
  pair("R1,2 - R2,2", svytotal(~I(inR1 * woman - inR2 * woman), s)),
  pair("R1,2 / R1,_T - R2,2 / R2,_T", difference(s, ~I(inR1 * woman), ~inR1, ~I(inR2 * woman), ~inR2)),
  pair("poor R1", svyratio(~poor1, ~inR1, s)),
  pair("poor R1 - R2", difference(s, ~poor1, ~inR1, ~poor2, ~inR2))
)
difference <- function(s, a, b, c, e) {
  value <- function(w, data) {
    x <- function(f) as.numeric(model.matrix(update(f, ~ . - 1), data)[, 1])
    sum(w * x(a)) / sum(w * x(b)) - sum(w * x(c)) / sum(w * x(e))
  }
  if (inherits(s, "svyrep.design")) return(withReplicates(s, value))
  totals <- svytotal(as.formula(paste("~", paste(sapply(list(a, b, c, e), function(f) deparse(f[[2]])), collapse = "+"))), s)
  names(totals) <- c("t1", "t2", "t3", "t4")
  v <- attr(totals, "var")
  dimnames(v) <- list(names(totals), names(totals))
  attr(totals, "var") <- v
  svycontrast(totals, quote(t1 / t2 - t3 / t4))
}
blocks <- sapply(names(designs), function(n) sprintf('  "%s": {\n%s\n  }', n, paste(one(designs[[n]]), collapse = ",\n")))
cat(sprintf('{\n  "source": "R survey %s, tests/oracles/r_survey.R",\n%s\n}\n', packageVersion("survey"), paste(blocks, collapse = ",\n")))
