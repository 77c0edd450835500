"""The official clients of both interfaces against the server of scripted models: it speaks as a provider does.

`MODEL_SERVER` is its address. It says the same four things again and again: a call, a text, a refusal with 429, and a
call of which the connection ends in the middle.
"""

import json
import os

import anthropic
import openai

ADDRESS = os.environ["MODEL_SERVER"]
QUESTION = "How many orders are there?"
SCHEMA = {"type": "object", "properties": {"sql": {"type": "string"}}, "required": ["sql"]}
SQL = "SELECT count(*) FROM orders"


def with_openai() -> None:
    client = openai.OpenAI(base_url=f"http://{ADDRESS}/v1", api_key="k", max_retries=0)
    asked = {
        "model": "scripted",
        "messages": [{"role": "user", "content": QUESTION}],
        "tools": [{"type": "function", "function": {"name": "run_sql", "parameters": SCHEMA}}],
    }

    def check_call(message: object, usage: object) -> None:
        (call,) = message.tool_calls
        assert call.function.name == "run_sql", call
        assert json.loads(call.function.arguments) == {"sql": SQL}, call
        assert message.content == "Let me look.", message
        assert (usage.prompt_tokens, usage.completion_tokens) == (100, 20), usage

    for stream in (False, True):
        if stream:
            options = {"stream_options": {"include_usage": True}}
            with client.chat.completions.stream(**asked, **options) as events:
                whole = events.get_final_completion()
        else:
            whole = client.chat.completions.create(**asked)
        check_call(whole.choices[0].message, whole.usage)
        if stream:
            parts = client.chat.completions.create(**asked, stream=True)
            text = "".join(part.choices[0].delta.content or "" for part in parts if part.choices)
        else:
            text = client.chat.completions.create(**asked).choices[0].message.content
        assert text == "There are 3, 订单.", text
        try:
            client.chat.completions.create(**asked, stream=stream)
            raise AssertionError("429 was expected")
        except openai.RateLimitError as error:
            assert "slow down" in error.message, error
            assert error.response.headers["retry-after"] == "1"
        try:
            answer = client.chat.completions.create(**asked, stream=stream)
            for _ in answer if stream else ():
                pass
            raise AssertionError("the connection ended in the middle")
        except Exception as error:
            assert not isinstance(error, AssertionError), error


def with_anthropic() -> None:
    client = anthropic.Anthropic(base_url=f"http://{ADDRESS}", api_key="k", max_retries=0)
    asked = {
        "model": "scripted",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": QUESTION}],
        "tools": [{"name": "run_sql", "input_schema": SCHEMA}],
    }
    for stream in (False, True):
        if stream:
            with client.messages.stream(**asked) as events:
                message = events.get_final_message()
        else:
            message = client.messages.create(**asked)
        text, call = message.content
        assert text.text == "Let me look.", message
        assert (call.type, call.name, call.input) == ("tool_use", "run_sql", {"sql": SQL}), message
        assert message.stop_reason == "tool_use", message
        assert (message.usage.input_tokens, message.usage.output_tokens) == (100, 20), message
        if stream:
            with client.messages.stream(**asked) as events:
                said = "".join(events.text_stream)
        else:
            said = client.messages.create(**asked).content[0].text
        assert said == "There are 3, 订单.", said
        try:
            client.messages.create(**asked, stream=stream)
            raise AssertionError("429 was expected")
        except anthropic.RateLimitError as error:
            assert "slow down" in str(error), error
        try:
            if stream:
                with client.messages.stream(**asked) as events:
                    events.get_final_message()
            else:
                client.messages.create(**asked)
            raise AssertionError("the connection ended in the middle")
        except Exception as error:
            assert not isinstance(error, AssertionError), error


with_openai()
with_anthropic()
print("both clients read the scripts")
