-- What an MCP server said of each tool when it was first used. A server may change its tools at any time, and what people
-- approved or trusted was the tool as it was: so a change is shown, and asked about, until a person accepts it.
-- depends: 0011_operator

CREATE TABLE interlock.tool_pin (
    server text NOT NULL,
    tool text NOT NULL,
    sha256 text NOT NULL,
    definition jsonb NOT NULL,
    pinned_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (server, tool)
);
