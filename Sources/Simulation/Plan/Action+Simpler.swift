/// Simpler actions in the place of one, the simplest first; none of them leads back.
extension Action {
    var simplerForms: [Action] {
        switch self {
        case .write(let peer, let steps):
            return Action.simplerForms(of: steps).map { .write(peer: peer, $0) }
        case .network(let action): return action.simplerForms.map { .network($0) }
        case .stranger(let peer, let action): return action.simplerForms.map { .stranger(peer: peer, $0) }
        case .hostile(let peer, let victim, let action):
            return action.simplerForms.map { .hostile(peer: peer, victim: victim, $0) }
        case .clock(let peer, let action): return action.simplerForms.map { .clock(peer: peer, $0) }
        case .process(let peer, let action): return action.simplerForms.map { .process(peer: peer, $0) }
        case .disk(let peer, let action): return action.simplerForms.map { .disk(peer: peer, $0) }
        case .history(let peer, .redo): return [.history(peer: peer, .undo)]
        case .history(let peer, .act(.some, _)): return [.history(peer: peer, .act(program: nil, isNew: true))]
        case .history(let peer, .bringBack): return [.history(peer: peer, .remember)]
        case .branch(let peer, let action): return action.simplerForms(by: peer)
        case .sharing(let peer, let action): return action.simplerForms.map { .sharing(peer: peer, $0) }
        case .history(let peer, .compact(let keeping)) where keeping > .milliseconds(0):
            return [.history(peer: peer, .compact(keeping: .milliseconds(0)))]
        case .history(let peer, .forget(let object, let name)):
            guard let property = Workload.propertyNames.firstIndex(of: name) else { return [] }
            return [.write(peer: peer, [.set(object, property: property)])]
        case .join, .restamp, .history: return []
        case .pair(let inviter, let trouble):
            return trouble == .none ? [] : [.join(inviter: inviter), .pair(inviter: inviter, .none)]
        case .leave(let peer): return [.process(peer: peer, .kill(downtime: .seconds(1)))]
        }
    }

    fileprivate static func simplerForms(of steps: [WorkStep]) -> [[WorkStep]] {
        var forms: [[WorkStep]] = []
        if steps.count > 1 {
            forms = steps.indices.map { dropped in
                steps.indices.filter { $0 != dropped }.map { steps[$0] }
            }
        }
        for (position, step) in steps.enumerated() {
            for form in step.simplerForms {
                var simpler = steps
                simpler[position] = form
                forms.append(simpler)
            }
        }
        return forms
    }
}

extension VirtualTime {
    /// Shorter and rounder lengths.
    fileprivate var simplerForms: [VirtualTime] {
        let round: [UInt64] = [1, 2, 5, 10, 20, 30, 60, 120, 300]
        var forms = round.map { VirtualTime.seconds($0) }.filter { $0 < self && self != .seconds(1) }
        if self.microseconds % 1_000_000 != 0 { forms.append(.seconds(self.microseconds / 1_000_000 + 1)) }
        return forms
    }
}

extension WorkStep {
    fileprivate var simplerForms: [WorkStep] {
        switch self {
        case .create(let object, let parent): return parent == nil ? [] : [.create(object, parent: nil)]
        case .set(let object, let property):
            return property == 0 ? [] : [.set(object, property: 0)]
        case .unset(let object, let property):
            return [.set(object, property: 0)] + (property == 0 ? [] : [.unset(object, property: 0)])
        case .assign, .clear, .insert: return []
        case .fill(let object, let count): return count > 1 ? [.fill(object, count: count / 2)] : []
        case .spread(let object, let count, let byteCount):
            return count > 1 ? [.spread(object, count: count / 2, nameByteCount: byteCount)] : []
        case .move(let object, let parent):
            return [.set(object, property: 0)] + (parent == nil ? [] : [.move(object, parent: nil)])
        case .delete(let object): return [.set(object, property: 0)]
        case .twins: return [.set(0, property: 0)]
        }
    }
}

extension NetworkAction {
    fileprivate var simplerForms: [NetworkAction] {
        switch self {
        case .partition, .healPartition, .reset, .dialTogether: return []
        case .stall(let left, let right, let length): return length.simplerForms.map { .stall(left, right, $0) }
        case .halfOpen(let from, let to, let length):
            return [.stall(from, to, length)] + length.simplerForms.map { .halfOpen(from: from, to: to, $0) }
        case .cut(let from, let to, let count):
            let counts = [0, 1, 100, 1_000].filter { $0 < count }
            return [.reset(from, to)] + counts.map { .cut(from: from, to: to, afterByteCount: $0) }
        case .oneSidedCut(let first, let second, let delay):
            return [.reset(first, second)] + delay.simplerForms.map { .oneSidedCut(first, second, $0) }
        case .truncate(let from, let to): return [.reset(from, to)]
        case .flipBit(let from, let to, let bit):
            return [.reset(from, to)] + [0, 8, 64].filter { $0 < bit }.map { .flipBit(from: from, to: to, bit: $0) }
        case .refuseDials(let peer, let length): return length.simplerForms.map { .refuseDials(to: peer, $0) }
        case .impersonate(let whom, let by, let length):
            return length.simplerForms.map { .impersonate(whom, by: by, $0) }
        }
    }
}

extension StrangerAction {
    fileprivate var simplerForms: [StrangerAction] {
        switch self {
        case .replayHandshake, .silence: []
        case .replayStream: [.replayHandshake]
        case .garbage(let count): [1, 10, 100].filter { $0 < count }.map { .garbage(byteCount: $0) }
        case .flood(let count): [1, 33].filter { $0 < count }.map { .flood(connectionCount: $0) }
        case .knock(let count): [1, 10].filter { $0 < count }.map { .knock(count: $0) }
        }
    }
}

extension HostileAction {
    fileprivate var simplerForms: [HostileAction] {
        var forms: [HostileAction] = []
        let plain = self.mappingSteps { _ in .set(0, property: 0) }
        if plain != self { forms.append(plain) }
        switch self {
        case .equivocate(let change, let other, let step, let back):
            if back > 0 { forms.append(.equivocate(change, other: other, step, back: 0)) }
        case .flood(let flooding, let count):
            forms += [1, 100].filter { $0 < count }.map { .flood(flooding, count: $0) }
        case .fork(let change, let count):
            forms += [1, 2, 8].filter { $0 < count }.map { .fork(change, count: $0) }
        case .restamp(let isOwn, let count):
            forms += [1, 2, 8].filter { $0 < count }.map { .restamp(isOwn: isOwn, count: $0) }
        case .write, .name, .replay, .withhold, .claim, .orphan, .stampAhead, .backdate, .reverse, .spoil, .declare,
            .garble, .dawdle, .stay:
            break
        }
        return forms
    }
}

extension ClockAction {
    fileprivate var simplerForms: [ClockAction] {
        switch self {
        case .offset(let milliseconds):
            return ClockAction.rounder(milliseconds).map { .offset(milliseconds: $0) }
        case .epoch: return [.offset(milliseconds: -86_400_000)]
        case .drift(let parts): return parts == 200 || parts == -200 ? [] : [.drift(partsPerMillion: 200)]
        case .stuck: return []
        case .jump(let milliseconds):
            return [.offset(milliseconds: milliseconds)]
                + ClockAction.rounder(milliseconds).map { .jump(milliseconds: $0) }
        }
    }

    /// Whole hours, minutes or seconds that are less.
    private static func rounder(_ milliseconds: Int64) -> [Int64] {
        let round: [Int64] = [1_000, 60_000, 600_000, 3_600_000, 86_400_000]
        return round.filter { $0 < milliseconds.magnitude }.map { milliseconds < 0 ? -$0 : $0 }
    }
}

extension ProcessAction {
    fileprivate var simplerForms: [ProcessAction] {
        switch self {
        case .kill(let downtime): return downtime.simplerForms.map { .kill(downtime: $0) }
        case .powerCut(let loss, let downtime):
            return [.kill(downtime: downtime)] + loss.simplerForms.map { .powerCut($0, downtime: downtime) }
                + downtime.simplerForms.map { .powerCut(loss, downtime: $0) }
        case .killAtStoreCall(let call, let downtime):
            return [.kill(downtime: downtime)] + downtime.simplerForms.map { .killAtStoreCall(call, downtime: $0) }
                + ProcessAction.fewer(call).map { .killAtStoreCall($0, downtime: downtime) }
        case .powerCutAtStoreCall(let call, let loss, let downtime):
            return [.powerCut(loss, downtime: downtime), .killAtStoreCall(call, downtime: downtime)]
                + loss.simplerForms.map { .powerCutAtStoreCall(call, $0, downtime: downtime) }
                + downtime.simplerForms.map { .powerCutAtStoreCall(call, loss, downtime: $0) }
                + ProcessAction.fewer(call).map { .powerCutAtStoreCall($0, loss, downtime: downtime) }
        case .restart(let downtime, let back):
            return (back == 0 ? [] : [.restart(downtime: downtime, clockBackMilliseconds: 0)])
                + downtime.simplerForms.map { .restart(downtime: $0, clockBackMilliseconds: back) }
                + [60_000, 3_600_000].filter { $0 < back }.map {
                    .restart(downtime: downtime, clockBackMilliseconds: $0)
                }
        case .pause(let length): return length.simplerForms.map { .pause($0) }
        }
    }

    private static func fewer(_ calls: Int) -> [Int] { [1, 2, 5, 10, 20].filter { $0 < calls } }
}

extension PowerLoss {
    fileprivate var simplerForms: [PowerLoss] {
        switch self {
        case .losesAll: []
        case .keepsAll, .losesTail: [.losesAll]
        case .losesSome, .tears: [.losesAll, .losesTail]
        }
    }
}

extension DiskAction {
    fileprivate var simplerForms: [DiskAction] {
        switch self {
        case .failNext, .loseLog, .backUp: []
        case .fullAfter(let count, let length):
            [.full(length)] + length.simplerForms.map { .fullAfter(byteCount: count, $0) }
        case .full(let length): length.simplerForms.map { .full($0) }
        case .lie(let length): length.simplerForms.map { .lie($0) }
        case .flipBit(let seed): (0..<4).filter { $0 < seed }.map { .flipBit(seed: $0) }
        case .alter(let seed): (0..<4).filter { $0 < seed }.map { .alter(seed: $0) }
        case .restore(let isDatabaseAlone): isDatabaseAlone ? [.restore(isDatabaseAlone: false)] : []
        case .clone(let isDatabaseAlone): isDatabaseAlone ? [.clone(isDatabaseAlone: false)] : []
        }
    }
}

extension BranchAction {
    fileprivate func simplerForms(by peer: Int) -> [Action] {
        switch self {
        case .open(let branch, let parent, let isOfThePast):
            var forms: [BranchAction] = []
            if parent != nil { forms.append(.open(branch, leaving: nil, isOfThePast: isOfThePast)) }
            if isOfThePast { forms.append(.open(branch, leaving: parent, isOfThePast: false)) }
            return forms.map { .branch(peer: peer, $0) }
        case .write(let branch, let steps):
            let fewer = Action.simplerForms(of: steps).map { Action.branch(peer: peer, .write(branch, $0)) }
            return [.write(peer: peer, steps)] + fewer
        case .reverse(_, let isRedo): return [.history(peer: peer, isRedo ? .redo : .undo)]
        case .merge(let branch?, .some): return [.branch(peer: peer, .merge(branch, into: nil))]
        case .merge, .close: return []
        }
    }
}
