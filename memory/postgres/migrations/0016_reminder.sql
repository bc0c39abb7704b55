-- A person is reminded of an open question once, so many seconds after it was asked as the policy said then (`rules.reminder`).
-- depends: 0015_notification

ALTER TABLE interlock.approval ADD COLUMN remind_at timestamptz, ADD COLUMN reminded_at timestamptz;

CREATE INDEX approval_to_remind ON interlock.approval (remind_at) WHERE status = 'pending' AND reminded_at IS NULL;
