"""How a modification is checked: by the tool's own schema, and hashed as every call is."""

from typing import Any

from graph.approval import Validate
from graph.calls import args_hash
from memory.approvals import Approval
from memory.errors import RefusedError
from tools.spec import InvalidArguments, Registry


def validator(registry: Registry) -> Validate:
    def validate(question: Approval, args: dict[str, Any]) -> tuple[dict[str, Any], str]:
        tool = registry.get(question.tool)
        if tool is None:
            raise RefusedError(f"The tool {question.tool!r} is not there any more.", code="no_such_tool")
        try:
            valid = tool.validate(args)
        except InvalidArguments as error:
            raise RefusedError(f"{question.tool} cannot take these arguments: {error}", code="invalid_arguments") from None
        return valid, args_hash(tool, valid)

    return validate
