#!/usr/bin/python3
"""What people ask of `ocrtune plan`, checked in worlds whose truth is known to this script alone.

  plan_check.py ask FILE [--ocrtune build/ocrtune]     questions and what is true of each, simulated
  plan_check.py years [--ocrtune build/ocrtune] [--years 500] [--seed 1]

`ask` reads a JSON list such as bench/capacity/questions.json, whose runs S, S4, P, T and L stand for stored runs of
programs that sleep as long as the question's world says, or of the built-in engine (L): it runs `ocrtune plan ARGS --json` and lives 200 days (or
jobs) of each question's world with the machines of the plan and with up to three fewer. `years` makes as many worlds: a
machine is measured with noise, planned from, and a fleet of other machines of its kind is lived with for a year of a
daily profile, growth, failures and repairs. The simulations go event by event and share no code with the plan.
"""
import argparse
import heapq
import json
import math
import random
import statistics
import subprocess
import tempfile


TABLE_HEAD = 'nproc,threads,samples_per_second,peak_bytes,outcome,noise_sigma'


def lognormal(rng, mean, sigma):
    return rng.lognormvariate(math.log(mean) - sigma ** 2 / 2, sigma)


class Machines:
    """So many machines, each a queue of its own with `servers` servers, at a speed of its own on a day of its own."""

    def __init__(self, rng, world, count):
        self.rng, self.world = rng, world
        day = math.exp(rng.gauss(0, world.get('day_spread', .02)))
        spread = world.get('machine_spread', .02)
        self.speeds = [day * math.exp(rng.gauss(0, spread)) for _ in range(count)]
        self.free = [[0.0] * world['servers'] for _ in range(count)]

    def answer(self, at, lines=1):
        """When a page of so many lines is answered that comes at this time; each goes to any machine."""
        one = self.rng.randrange(len(self.free))
        last = at
        for _ in range(lines):
            start = max(at, heapq.heappop(self.free[one]))
            end = start + lognormal(self.rng, self.world['mean'], self.world['sigma']) / self.speeds[one]
            heapq.heappush(self.free[one], end)
            last = max(last, end)
        return last


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def open_load(rng, world, count, question):
    """The latency at the percentile, of Poisson arrivals at the peak's rate."""
    machines, at, latencies = Machines(rng, world, count), 0.0, []
    for _ in range(question.get('requests', 6000)):
        at += rng.expovariate(question['rate'])
        latencies.append(machines.answer(at, question.get('lines', 1)) - at)
    return quantile(latencies[len(latencies) // 10:], question['percentile']) <= question['seconds']


def users(rng, world, count, question):
    """The same of users who wait for an answer, think, and ask again."""
    machines, latencies = Machines(rng, world, count), []
    asking = [(rng.expovariate(1 / question['think']), user) for user in range(question['users'])]
    heapq.heapify(asking)
    while len(latencies) < question.get('requests', 8000):
        at, user = heapq.heappop(asking)
        end = machines.answer(at)
        latencies.append(end - at)
        heapq.heappush(asking, (end + rng.expovariate(1 / question['think']), user))
    return quantile(latencies[len(latencies) // 10:], question['percentile']) <= question['seconds']


def shards(rng, world, count, question):
    """Whether each machine has read its shard in time, interruptions and restarts included."""
    return job_seconds(rng, world, count, question) <= question['within']


def job_seconds(rng, world, count, question):
    speeds = Machines(rng, world, count).speeds
    shard = question['pages'] / count
    spread = world['sigma'] * world['mean'] * math.sqrt(shard / world['servers'])
    last = 0
    for speed in speeds:
        left = (shard * world['mean'] / world['servers'] + rng.gauss(0, spread / math.sqrt(world['servers']))) / speed
        spent = world.get('start', 0)
        while question.get('interrupted_every') and (up := rng.expovariate(1 / question['interrupted_every'])) < left:
            left -= up
            spent += up + question['restart']
        last = max(last, spent + left)
    return last


def autoscaled(rng, world, rule, question):
    """Share of late requests and replica hours of a day under the rule: every 15 s, fewer only after 5 minutes."""
    replicas, ready = [[0.0] * world['servers'] for _ in range(rule['min_replicas'])], [0.0] * rule['min_replicas']
    at, look, wishes, ends, late, total, hours = 0.0, 15.0, [], [], 0, 0, 0.0
    while True:
        at += rng.expovariate(question['highest'])
        if at > 86400:
            return late / total, hours
        while look <= at:
            while ends and ends[0] <= look:
                heapq.heappop(ends)
            wish = min(max(math.ceil(len(ends) / rule['target_in_flight']), rule['min_replicas']), rule['max_replicas'])
            wishes = (wishes + [wish])[-20:]
            hours += len(replicas) * 15 / 3600
            for _ in range(wish - len(replicas)):
                replicas.append([look + world['start']] * world['servers'])
                ready.append(look + world['start'])
            for _ in range(len(replicas) - max(wishes)):
                replicas.pop()
                ready.pop()
            look += 15
        hour = at / 3600
        if rng.random() * question['highest'] > (question['highest'] if question['from'] <= hour < question['to'] else question['lowest']):
            continue
        serving = [i for i in range(len(replicas)) if ready[i] <= at]
        least = min(serving, key=lambda i: sum(end > at for end in replicas[i]) * 1e6 + max(0, replicas[i][0] - at))
        end = max(at, heapq.heappop(replicas[least])) + lognormal(rng, world['mean'], world['sigma'])
        heapq.heappush(replicas[least], end)
        heapq.heappush(ends, end)
        late += end - at > question['seconds']
        total += 1


KINDS = {'open': open_load, 'users': users, 'shards': shards}


def plan(program, args):
    ran = subprocess.run([program, 'plan', *args, '--json'], capture_output=True, text=True)
    return json.loads(ran.stdout) if ran.stdout else {'answer': ran.stderr.strip(), 'refused': True}


def ask(options):
    for question in json.load(open(options.file)):
        with tempfile.NamedTemporaryFile('w', suffix='.csv') as table:
            table.write('\n'.join([TABLE_HEAD, *question.get('table', [])]) + '\n')
            table.flush()
            said = plan(options.ocrtune, [table.name if word == 'TABLE' else word for word in question['args']])
        print(f"\n{question['name']}\n  plan {' '.join(question['args'])}\n  {said['answer']}\n  by hand: {question['hand']}")
        if said['refused'] or 'kind' not in question:
            continue
        count, world = int(said['machines']['high']), question['world']
        if question['kind'] == 'time':
            times = [job_seconds(random.Random(i), world, 1, question) for i in range(200)]
            seconds = said['rows'][0]['seconds']
            print(f"  simulated: {statistics.median(times) / 3600:.2f} h; said {seconds['median'] / 3600:.2f} "
                  f"({seconds['low'] / 3600:.2f} to {seconds['high'] / 3600:.2f})")
        elif question['kind'] == 'autoscale':
            rule = said['autoscale']
            late, hours = autoscaled(random.Random(1), world, rule, question)
            print(f"  simulated: {100 * late:.2f} % late, {hours:.1f} machine hours; said "
                  f"{100 * rule['late_share']:.2f} %, {rule['machine_hours']:.1f}")
        else:
            lived = {n: statistics.mean(KINDS[question['kind']](random.Random(i), world, n, question)
                                        for i in range(options.days)) for n in range(max(1, count - 3), count + 1)}
            print('  simulated: ' + ', '.join(f'{n} hold in {100 * share:.0f} %' for n, share in lived.items()))


def failures(rng, machines, hours, up_hours, repair_hours):
    """(time, change) of the machines that are up, each failing and repaired by itself."""
    changes = []
    for _ in range(machines):
        at = rng.expovariate(1 / up_hours)
        while at < hours:
            back = at + rng.expovariate(1 / repair_hours)
            changes += [(at, -1), (min(back, hours), 1)]
            at = back + rng.expovariate(1 / up_hours)
    return sorted(changes)


def hours_short(rng, bought, needed, hours=730):
    """Hours of a month in which fewer machines are up than needed: 398 h up and 2 h in repair, on average."""
    short, up, last = 0.0, bought, 0.0
    for at, change in failures(rng, bought, hours, 398, 2) + [(hours, 0)]:
        short += (at - last) * (up < needed)
        up, last = up + change, at
    return short


def year(program, seed, folder):
    rng = random.Random(seed)
    spread, days, noise = rng.uniform(.01, .03), rng.uniform(.01, .03), rng.uniform(.005, .03)
    world = {'servers': rng.choice([1, 2, 4, 8]), 'mean': rng.uniform(.05, 1), 'sigma': .25,
             'machine_spread': spread, 'day_spread': days}
    rate = world['servers'] / world['mean']
    measured = rate * math.exp(rng.gauss(0, spread) + rng.gauss(0, days) + rng.gauss(0, noise))
    table = f'{folder}/table.csv'
    with open(table, 'w') as out:
        out.write(f"{TABLE_HEAD}\n{world['servers']},1,{measured:.8g},1,ok,{noise:.4f}\n")
    growth, factor = rng.uniform(0, 6), rng.uniform(2, 4)
    peak = rate * rng.uniform(3, 30)
    args = ['--table', table, '--daily', f'{peak / factor * 86400:.0f}', '--peak', f'{factor:.3f}x 9-11',
            '--growth', f'{growth:.3f}', '--machine-availability', '99.5']
    latency = rng.random() < .5
    question = {'percentile': .95, 'seconds': world['mean'] * rng.uniform(3, 8), 'requests': 20000}
    if latency:
        args += ['--slo', f"p95={1000 * question['seconds']:.1f}ms"]
    said = plan(program, args)
    if said['refused']:
        return None
    months = said['year']['months']
    last = months[-1]
    # Busy hours, each on one day, with as many machines of this kind as the plan counted for them.
    def enough(count, rate_then):
        question['rate'] = rate_then
        return (open_load(rng, world, count, question) if latency else
                sum(Machines(rng, world, count).speeds) * rate >= rate_then)

    count = said['machines']['high']
    chances = {row['machines']: row['probability'] for row in said['rows']}
    fewer = count > 1 and enough(count - 1, peak)
    fleet = statistics.mean(Machines(rng, world, int(count)).speeds) * rate
    return {'latency': latency, 'machines': count, 'stated': chances[count], 'now': enough(count, peak),
            'fewer': fewer, 'fewer_stated': chances.get(count - 1, 0),
            'sure': fleet >= said['machine_samples_per_second']['low'],
            'last': enough(months[-1]['machines'], peak * (1 + growth / 100) ** 12),
            'bought': months[-1]['bought_machines'],
            'short': sum(hours_short(rng, month['bought_machines'], month['machines']) for month in months[1:])}


def years(options):
    lived = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.seed, options.seed + options.years):
            one = year(options.ocrtune, seed, folder)
            if one:
                lived.append(one)
    for name, kinds in (('all', (False, True)), ('without a latency target', (False,)), ('with one', (True,))):
        rows = [one for one in lived if one['latency'] in kinds]
        if not rows:
            continue
        of = {key: statistics.mean(one[key] for one in rows) for key in rows[0]}
        print(f"{name}: {len(rows)} years of {of['machines']:.1f} machines now and {of['bought']:.1f} bought for the last "
              f"month; the count was enough now in {100 * of['now']:.1f} % (stated {100 * of['stated']:.1f} %), one machine fewer in "
              f"{100 * of['fewer']:.1f} % (stated {100 * of['fewer_stated']:.1f} %), the plan's in the last "
              f"month in {100 * of['last']:.1f} %; each did the rate that is stated as 95 % sure in {100 * of['sure']:.1f} %; "
              f"enough were up {100 - of['short'] / 87.6:.3f} % of the time, fewer than "
              f"99.9 % in {100 * statistics.mean(one['short'] > 8.76 for one in rows):.1f} % of the years")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    asking, living = commands.add_parser('ask'), commands.add_parser('years')
    asking.add_argument('file')
    asking.add_argument('--days', type=int, default=200)
    living.add_argument('--years', type=int, default=500)
    living.add_argument('--seed', type=int, default=1)
    for command, run in ((asking, ask), (living, years)):
        command.add_argument('--ocrtune', default='build/ocrtune')
        command.set_defaults(run=run)
    options = parser.parse_args()
    options.run(options)


if __name__ == '__main__':
    main()
