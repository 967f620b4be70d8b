#!/usr/bin/env python3
"""60 services with noise, half of them with a fault, beside the check of answers.

usage: services.py build/answer_check [--seed S] [--services N]

A service answers as servers of OCR do: an id, a time, scores, boxes. Noise is drawn for each: the order
of lines and of keys, Unicode forms, blanks, times as text, a text that varies by itself. A fault is one of
  setting     another setting reads 1 to 10 % of the inputs otherwise, always
  rare        another setting reads 0.1 to 5 % of all answers otherwise, at random
  load        from k requests in flight 0.1 to 50 % of the answers are wrong
  swapped     from k in flight 0.1 to 20 % of the answers are those of another input
What is drawn is known to this script alone; the check sees bodies. It is driven as a trial does it: two
askings of each input (16 in all where there are few), loads of 1, 2, 4 ... 32 in flight for 0.36 s each, more
answers alone while it is in doubt (as long as 3 s would give), and 3 s with the most in flight.
"""
import argparse
import json
import random
import string
import subprocess
import unicodedata

WORDS = ['Invoice', 'total', 'due', 'Straße', 'café', 'niño', 'Größe', '合计', '金额', '발행', 'Nr.', 'VAT', 'net', 'amount', 'paid']


class Service:
    def __init__(self, rng):
        self.rng = rng
        self.inputs = rng.choice([1, 2, 5, 20, 60, 200])
        self.texts = [[self.line() for _ in range(rng.randint(1, 8))] for _ in range(self.inputs)]
        self.seconds = rng.choice([0.002, 0.005, 0.01, 0.02])
        self.noise = {name: rng.random() < 0.5 for name in ('id', 'took', 'took_text', 'order', 'form', 'keys', 'blanks', 'stamp')}
        self.varies = rng.choice([0, 0, 0, 0.002, 0.01, 0.05, 0.2])  # share of the answers alone

    def line(self):
        return ' '.join(self.rng.choice(WORDS) for _ in range(self.rng.randint(1, 4))) + f' {self.rng.randint(1, 99999):,}'

    def misread(self, texts):
        texts = list(texts)
        at = self.rng.randrange(len(texts))
        place = self.rng.randrange(len(texts[at]))
        other = self.rng.choice([c for c in string.ascii_letters + string.digits if c != texts[at][place]])
        texts[at] = texts[at][:place] + other + texts[at][place + 1:]
        return texts

    def body(self, texts):
        rng, noise = self.rng, self.noise
        lines = [{'text': t, 'score': round(rng.uniform(0.9, 1), 4), 'box': [rng.randint(0, 9) for _ in range(4)]} for t in texts]
        if noise['order']:
            rng.shuffle(lines)
        if noise['form']:
            for one in lines:
                one['text'] = unicodedata.normalize(rng.choice(['NFC', 'NFD']), one['text'])
        document = {'status': 'ok', 'lines': lines}
        if noise['id']:
            document['logId'] = '%032x' % rng.getrandbits(128)
        if noise['took']:
            document['took'] = rng.uniform(1, 30)
        if noise['took_text']:
            document['elapsed'] = f'{rng.uniform(1, 30):.1f} ms'
        if noise['stamp']:
            document['stamp'] = f'2026-11-25T22:{rng.randint(10, 59)}:{rng.randint(10, 59)}Z'
        if noise['keys']:
            items = list(document.items())
            rng.shuffle(items)
            document = dict(items)
        return json.dumps(document, ensure_ascii=rng.random() < 0.5 if noise['blanks'] else False,
                          separators=(',', ':') if noise['blanks'] and rng.random() < 0.5 else None)

    def answer(self, kind, fault, other_setting, in_flight):
        texts = self.texts[kind]
        if self.rng.random() < self.varies:
            texts = self.misread(texts)
        name = fault.get('name')
        if name == 'setting' and other_setting and kind in fault['inputs']:
            texts = fault['inputs'][kind]
        if name == 'rare' and other_setting and self.rng.random() < fault['share']:
            texts = self.misread(texts)
        if name == 'load' and in_flight >= fault['from'] and self.rng.random() < fault['share']:
            texts = self.misread(texts)
        if name == 'swapped' and in_flight >= fault['from'] and self.rng.random() < fault['share']:
            texts = self.texts[(kind + 1) % self.inputs]
        return self.body(texts)


def draw_fault(service, name, rng):
    fault = {'name': name}
    if name == 'setting':
        count = max(1, round(service.inputs * rng.uniform(0.01, 0.1)))
        fault['inputs'] = {k: service.misread(service.texts[k]) for k in rng.sample(range(service.inputs), count)}
        fault['share'] = count / service.inputs
    elif name == 'rare':
        fault['share'] = 10 ** rng.uniform(-3, -1.3)
    elif name == 'load':
        fault['from'] = rng.choice([2, 4, 8, 16])
        fault['share'] = 10 ** rng.uniform(-3, -0.3)
    elif name == 'swapped':
        service.inputs = max(service.inputs, 2)
        while len(service.texts) < service.inputs:
            service.texts.append([service.line()])
        fault['from'] = rng.choice([2, 4, 8, 16])
        fault['share'] = 10 ** rng.uniform(-3, -0.7)
    return fault


class Check:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self, line):
        self.process.stdin.write(line + '\n')

    def ask(self, line):
        self.say(line)
        self.process.stdin.flush()
        return self.process.stdout.readline().split()


def trial(check, service, fault, other_setting):
    """Gives the number in flight at which the check calls answers wrong; 0: at none."""
    rng = service.rng
    check.say(f'start {service.inputs}')
    if not other_setting:
        for _ in range(max(2, -(-16 // service.inputs))):
            for kind in range(service.inputs):
                check.say(f'ask {kind} {service.answer(kind, fault, False, 1)}')
        check.say('learn')

    def load(in_flight, seconds):
        for _ in range(max(1, int(seconds * min(in_flight, 8) / service.seconds))):
            kind = rng.randrange(service.inputs)
            check.say(f'answer {kind} {in_flight} {service.answer(kind, fault, other_setting, in_flight)}')
        return [int(x) for x in check.ask('state')]

    best = 1
    for in_flight in (1, 2, 4, 8, 16, 32):
        wrong, doubt, _ = load(in_flight, 0.36)
        if wrong:
            break
        best = in_flight
    alone = 0
    while not wrong and doubt and alone < 3:
        wrong, doubt, _ = load(1, 0.36)
        alone += 0.36
    if not wrong:
        wrong, doubt, _ = load(best, 3)
    while not wrong and doubt and alone < 3:
        wrong, doubt, _ = load(1, 0.36)
        alone += 0.36
    check.say('end')
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('program')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--services', type=int, default=60)
    parser.add_argument('--verbose', action='store_true')
    options = parser.parse_args()
    found = {}
    for number in range(options.services):
        rng = random.Random(options.seed * 1000 + number)
        service = Service(rng)
        name = 'none' if number % 2 == 0 else ('setting', 'rare', 'load', 'swapped')[number // 2 % 4]
        fault = draw_fault(service, name, rng) if name != 'none' else {}
        check = Check(options.program)
        first = trial(check, service, fault, False)
        second = trial(check, service, fault, True)
        compared, differs, _, _ = check.ask('judge')
        check.process.stdin.close()
        check.process.wait()
        alarm = bool(first or second or differs == '1')
        share = fault.get('share', 0)
        group = name if name == 'none' else f"{name} {'beyond' if share - service.varies >= 0.01 or name == 'swapped' else 'below'} 1 %"
        found.setdefault(group, []).append(alarm)
        if options.verbose or (alarm != (name != 'none')):
            print(number, name, f'{share:.4f}', 'inputs', service.inputs, 'varies', service.varies, 'ms', 1e3 * service.seconds,
                  'from', fault.get('from', '-'), 'compared', compared, 'differs', differs, 'wrong from', first, second)
    for group, alarms in sorted(found.items()):
        print(f'{group}: {sum(alarms)} of {len(alarms)} called different')


main()
