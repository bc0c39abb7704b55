-- What could go on, in the order in which workers take it: within each tenant what a person decided, then what was left behind, then
-- what nobody has begun. Finding the next ones reads as many rows as there is room for, however many threads there are or are due.
-- depends: 0025_settled

CREATE INDEX run_due ON interlock.run (
    tenant, (CASE WHEN lease_epoch = 0 THEN 2 WHEN wake_seq <> settled_seq THEN 0 ELSE 1 END), updated_at
) WHERE wake_seq <> settled_seq OR status = 'running';
CREATE INDEX run_driven ON interlock.run (tenant) WHERE lease_owner IS NOT NULL;
CREATE INDEX approval_to_close ON interlock.approval (expires_at) WHERE status = 'pending' AND expires_at IS NOT NULL;
