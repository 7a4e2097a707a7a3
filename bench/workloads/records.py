"""What the benchmark's Python does: JSON there and back, objects, sorting, strings."""
import json


class Record:
    def __init__(self, number):
        self.number = number
        self.name = f"record {number}"
        self.values = [number * 0.5, number % 7, str(number % 100)]

    def fields(self):
        return {"number": self.number, "name": self.name, "values": self.values}


def groups_of(rows):
    groups = {}
    for row in rows:
        groups.setdefault(row["values"][2], []).append(row["name"].upper())
    return {key: sorted(names) for key, names in sorted(groups.items())}


def main():
    total = 0
    for turn in range(10):
        rows = [Record(number + turn).fields() for number in range(12000)]
        text = json.dumps(rows)
        back = json.loads(text)
        assert back == rows
        groups = groups_of(back)
        total += len(text) + sum(len(names) for names in groups.values())
    print(total, len(groups))


main()
