//! The rules of play. What belongs here: positions, legal moves and outcomes of each game, as pure values. What never does: a
//! match, a strike, an agent, a clock, text that an agent wrote.
