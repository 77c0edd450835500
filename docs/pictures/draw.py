#!/usr/bin/env python3
"""Draws the pictures of the README from the answers of a running server with the example company.

    LAKEPORT_URL=http://127.0.0.1:8080 python3 docs/pictures/draw.py

It writes table.svg and question.svg beside itself. Nothing but Python's standard library is needed.
"""

import json
import os
import time
import urllib.parse
import urllib.request
from html import escape
from pathlib import Path

URL = os.environ.get("LAKEPORT_URL", "http://127.0.0.1:8080") + "/api/v1"
FOLDER = Path(__file__).parent
TABLE = "dws_daily_sales"
QUESTION = "Top 5 products by sales amount"

WIDTH = 860
SANS = "font-family='system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif'"
MONO = "font-family='ui-monospace, SFMono-Regular, Menlo, Consolas, monospace'"
INK, FAINT, LINE, PANEL, BLUE, GREEN = "#1f2937", "#6b7280", "#e5e7eb", "#f3f4f6", "#2563eb", "#0f766e"


def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} if data else {}
    with urllib.request.urlopen(urllib.request.Request(URL + path, data, headers)) as answer:
        found = json.load(answer)
    return found["data"] if set(found) == {"code", "message", "data"} else found


class Picture:
    def __init__(self):
        self.parts, self.y = [], 0

    def text(self, x, words, size=14, fill=INK, font=SANS, weight="400", anchor="start", y=None):
        y = self.y if y is None else y
        style = f"font-size='{size}' fill='{fill}' font-weight='{weight}' text-anchor='{anchor}'"
        self.parts.append(f"<text x='{x}' y='{y}' {font} {style} xml:space='preserve'>{escape(str(words))}</text>")

    def box(self, x, y, width, height, fill, stroke="none", radius=6):
        place = f"x='{x}' y='{y}' width='{width}' height='{height}' rx='{radius}'"
        self.parts.append(f"<rect {place} fill='{fill}' stroke='{stroke}'/>")

    def rule(self, y):
        self.parts.append(f"<line x1='24' x2='{WIDTH - 24}' y1='{y}' y2='{y}' stroke='{LINE}'/>")

    def arrow(self, x1, y1, x2, y2):
        bend = (x1 + x2) / 2
        path = f"M{x1} {y1} C{bend} {y1} {bend} {y2} {x2 - 6} {y2}"
        self.parts.append(f"<path d='{path}' fill='none' stroke='{FAINT}'/>")
        self.parts.append(f"<path d='M{x2 - 7} {y2 - 4} L{x2} {y2} L{x2 - 7} {y2 + 4} Z' fill='{FAINT}'/>")

    def rows(self, columns, rows):
        """Columns: heading, x, font, anchor."""
        for heading, x, _, anchor in columns:
            self.text(x, heading, 12, FAINT, weight="600", anchor=anchor)
        self.rule(self.y + 8)
        for row in rows:
            self.y += 26
            for (_, x, font, anchor), cell in zip(columns, row):
                self.text(x, cell, 13, INK, font, anchor=anchor)

    def save(self, name, title):
        height = self.y + 28
        frame = f"<rect x='.5' y='.5' width='{WIDTH - 1}' height='{height - 1}' rx='10' fill='#ffffff' stroke='{LINE}'/>"
        head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' width='{WIDTH}' role='img'>"
        body = "\n".join([head, f"<title>{escape(title)}</title>", frame, *self.parts, "</svg>"])
        (FOLDER / name).write_text(body + "\n")


def draw_table():
    found = ask("/tables?keyword=" + TABLE)["records"][0]
    table = ask(f"/tables/{found['id']}")
    size = ask(f"/tables/{found['id']}/statistics?forceRefresh=true")
    graph = ask(f"/lineage?tableId={found['id']}&direction=upstream")
    picture = Picture()
    picture.y = 40
    picture.text(24, TABLE, 20, weight="700", font=MONO)
    picture.box(WIDTH - 84, 22, 60, 26, GREEN)
    picture.text(WIDTH - 54, table["layer"], 13, "#ffffff", weight="700", anchor="middle")
    picture.y = 64
    picture.text(24, table["tableComment"], 14, FAINT)
    picture.y = 88
    facts = f"{table['cluster']['name']} · owner {table['owner']} · {size['rowCount']:,} rows · {size['dataSize']:,} bytes"
    picture.text(24, facts, 13)
    picture.y = 124
    columns = [("field", 24, MONO, "start"), ("type", 220, MONO, "start"), ("key", 320, SANS, "start"),
               ("comment", 370, SANS, "start")]
    rows = [(f["fieldName"], f["fieldType"], "●" if f["isPrimaryKey"] else "", f["fieldComment"]) for f in table["fields"]]
    picture.rows(columns, rows)
    picture.y += 40
    picture.text(24, "made from", 12, FAINT, weight="600")
    draw_lineage(picture, graph)
    picture.save("table.svg", f"The table {TABLE}: fields, size and lineage")


def draw_lineage(picture, graph):
    steps = sorted({node["distance"] for node in graph["nodes"]})
    top, wide, tall = picture.y + 16, 200, 30
    column = {step: 24 + place * (WIDTH - 48 - wide) // max(len(steps) - 1, 1) for place, step in enumerate(steps)}
    most = max(sum(node["distance"] == step for node in graph["nodes"]) for step in steps)
    places = {}
    for step in steps:
        nodes = sorted((node for node in graph["nodes"] if node["distance"] == step), key=lambda node: node["tableName"])
        for row, node in enumerate(nodes):
            y = top + int((row + (most - len(nodes)) / 2) * (tall + 12))
            places[node["id"]] = (column[step], y)
            is_anchor = node["distance"] == 0
            picture.box(column[step], y, wide, tall, BLUE if is_anchor else PANEL, LINE)
            ink = "#ffffff" if is_anchor else INK
            picture.text(column[step] + wide / 2, node["tableName"], 13, ink, MONO, anchor="middle", y=y + 20)
    for edge in graph["edges"]:
        (x1, y1), (x2, y2) = places[edge["source"]], places[edge["target"]]
        picture.arrow(x1 + wide, y1 + tall / 2, x2, y2 + tall / 2)
    picture.y = top + most * (tall + 12) - 12


def answer():
    topic = ask("/nl2sql/topics", {"title": "picture"})["topic_id"]
    task = ask("/nl2sql/tasks/deliver-message", {"topic_id": topic, "content": QUESTION})["task_id"]
    while ask(f"/nl2sql/tasks/{urllib.parse.quote(task)}")["status"] in ("waiting", "running"):
        time.sleep(0.2)
    return ask(f"/nl2sql/topics/{topic}/messages")["items"][1]


def wrapped(line, columns=104):
    """Breaks a long line of SQL after a comma."""
    parts = [""]
    for piece in line.split(", "):
        if parts[-1] and len(parts[-1]) + len(piece) > columns:
            parts.append("    ")
        parts[-1] += piece + ", "
    parts[-1] = parts[-1][:-2]
    return parts


def draw_question():
    message = answer()
    artifacts = {artifact["kind"]: artifact for artifact in message["artifacts"]}
    picture = Picture()
    picture.box(WIDTH - 24 - 330, 20, 330, 36, BLUE, radius=16)
    picture.text(WIDTH - 24 - 165, QUESTION, 15, "#ffffff", weight="600", anchor="middle", y=43)
    sql = [part for line in artifacts["sql"]["sql"].splitlines() for part in wrapped(line)]
    picture.box(24, 76, WIDTH - 48, 24 + 19 * len(sql), PANEL)
    picture.y = 78
    for line in sql:
        picture.y += 19
        picture.text(38, line, 12, GREEN, MONO)
    picture.y += 48
    names = [column["name"] for column in artifacts["table"]["columns"]]
    rows = artifacts["table"]["rows"]
    picture.text(24, names[0], 12, FAINT, weight="600")
    picture.text(370, names[-1], 12, FAINT, weight="600", anchor="end")
    picture.rule(picture.y + 8)
    most = max(float(row[-1]) for row in rows)
    for row in rows:
        picture.y += 28
        picture.text(24, row[0], 13)
        picture.text(370, f"{float(row[-1]):,.2f}", 13, font=MONO, anchor="end")
        picture.box(390, picture.y - 14, round((WIDTH - 24 - 390) * float(row[-1]) / most), 19, BLUE, radius=3)
    picture.save("question.svg", f"{QUESTION}: SQL, table and bar chart")


if __name__ == "__main__":
    draw_table()
    draw_question()
