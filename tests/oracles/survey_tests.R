# The Rao-Scott test of R survey for tests/survey/test_pair_effects.py, as JSON on standard output:
#   Rscript tests/oracles/survey_tests.R FILE > tests/oracles/survey_tests.json
# The file has a record in each line: unit, a, b. All weights are 50.
suppressMessages(library(survey))
d <- read.csv(commandArgs(TRUE)[1], colClasses = c(a = "factor", b = "factor"))
design <- svydesign(id = ~unit, weights = rep(50, nrow(d)), data = d)
f <- svychisq(~a + b, design, statistic = "F")
plain <- svychisq(~a + b, design, statistic = "Chisq")
cat(sprintf('{"pearson": %.10g, "F": %.10g, "ndf": %.10g, "ddf": %.10g, "p": %.10g}\n',
            plain$statistic, f$statistic, f$parameter[1], f$parameter[2], f$p.value))
