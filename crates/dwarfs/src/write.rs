mod compact;
mod freeze;
mod fsst;
