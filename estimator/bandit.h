/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A multi-armed bandit: which of several ways (arms) to do repeated work is the fastest. It
 * exploits the best arm by what was measured, and explores others as far as a budget allows.
 * Predictions, where there are any, choose among arms that were not measured.
 */
#ifndef HEDDLE_ESTIMATOR_BANDIT_H
#define HEDDLE_ESTIMATOR_BANDIT_H

#include <stdbool.h>

/** Arms at most, and the latest pulls of each that count. */
enum { BANDIT_ARMS = 18, BANDIT_RECENT = 15 };

/** What a bandit goes by. All shares are of the best arm's time. */
struct bandit_rules {
	unsigned narms;
	unsigned nbest; /**< arms that may become the best; those behind are explored alone */

	/* Arms that use more than one that is as fast: from this number on. */
	unsigned costly;
	double worth;  /**< they have to save this share */
	double margin; /**< and to promise this one, as long as nothing was measured */

	/* What a pull of an arm takes. */
	unsigned mean_of; /**< the running mean of so many pulls; 0: the median of the latest */
	double clamp;     /**< a pull counts at most so much more or less than the median */
	double change;    /**< a mean that is off the median by this share begins anew */

	/* Which arm is the best. */
	const double *lead; /**< it leaves others behind by this share, by its number of pulls */
	unsigned nlead;     /**< the last entry holds for more pulls */
	double doubt;       /**< and by this one over the number of pulls */
	bool stepwise;      /**< arm after arm has to leave behind the best before it; otherwise
	                         the best stays until another arm leaves it behind */

	/* First explorations: each arm so often in turn; an arm that is not near is tried once. 0:
	 * predictions choose them. */
	unsigned rounds;
	unsigned sure;  /**< pulls of the best before others are explored, and of any arm before
	                     its prediction is of no meaning */
	unsigned known; /**< pulls that make an arm known */
	double near;    /**< arms that take at most so many times the best's time */
	double first_budget; /**< what they may cost in all */

	/* Later explorations. */
	unsigned apart; /**< pulls between two of them */
	double far;     /**< arms that take at most so many times the best's time */
	double budget;  /**< what they may cost, as a share of the time of all pulls */
	double each;    /**< what one counts beside its cost, lest arms that cost nothing keep
	                     others from being explored */
	double untried; /**< share of the cost that counts of an arm without a measurement */
	bool credit;    /**< what an exploration saves pays for others of its arm */

	/* When the best arm is pulled without a look at the others. */
	unsigned young;  /**< not before so many pulls */
	unsigned period; /**< nor in two pulls of so many */
};

struct bandit_arm {
	unsigned n;        /**< pulls measured */
	double us;         /**< what one takes */
	unsigned explored; /**< pulls while another arm was the best */
	double regret_us;  /**< lost by them */
	double recent[BANDIT_RECENT];
};

/** A structure of zeros knows nothing. */
struct bandit {
	struct bandit_arm arms[BANDIT_ARMS];
	unsigned best; /**< of meaning after the first choice */
	unsigned pulls;
	unsigned explored;          /**< pulls up to the latest exploration */
	double total_us, regret_us; /**< of all pulls; of it, lost by explorations */
};

/** Chooses the next pull's arm.
 * @param predicted_us by arm; INFINITY: the arm cannot be pulled. At least one can. NULL: all can,
 * and nothing is predicted */
unsigned bandit_choose(struct bandit *bandit, const struct bandit_rules *rules,
                       const double *predicted_us);

/** Whether the next pull is the best arm's without a look at predictions.
 * @param[out] arm set only then */
bool bandit_settled(const struct bandit *bandit, const struct bandit_rules *rules, unsigned *arm);

/** Takes in what a pull took. @param us above 0 */
void bandit_measured(struct bandit *bandit, const struct bandit_rules *rules, unsigned arm,
                     double us);

/** Whether an arm is the best one by all that was measured. */
bool bandit_is_best(const struct bandit *bandit, const struct bandit_rules *rules, unsigned arm);

/** Forgets what an arm took, since it is no longer the same. What its explorations have cost
 * stays: otherwise each new arm would be explored at once. */
void bandit_forget(struct bandit *bandit, unsigned arm);

/** Puts another arm in an arm's place: its measurements count there, and are forgotten here. */
void bandit_replace(struct bandit *bandit, unsigned arm, unsigned by);

/** What a pull of an arm takes; 0: not measured. */
double bandit_us(const struct bandit *bandit, unsigned arm);

#endif
