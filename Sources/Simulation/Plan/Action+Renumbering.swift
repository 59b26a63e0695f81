/// The same action among other peers and on other objects.
extension Action {
    /// With each peer as `number` says, which is nil for one that is not there any more.
    ///
    /// - Returns: nil if nothing is left of the action.
    func renumberingPeers(_ number: (Int) -> Int?) -> Action? {
        switch self {
        case .write(let peer, let steps): number(peer).map { .write(peer: $0, steps) }
        case .network(let action): action.renumberingPeers(number).map { .network($0) }
        case .stranger(let peer, let action): number(peer).map { .stranger(peer: $0, action) }
        case .hostile(let peer, let victim, let action):
            if let peer = number(peer), let victim = number(victim), let action = action.renumberingPeers(number) {
                .hostile(peer: peer, victim: victim, action)
            } else {
                nil
            }
        case .clock(let peer, let action): number(peer).map { .clock(peer: $0, action) }
        case .restamp(let peer): number(peer).map { .restamp(peer: $0) }
        case .history(let peer, let action): number(peer).map { .history(peer: $0, action) }
        case .branch(let peer, let action): number(peer).map { .branch(peer: $0, action) }
        case .sharing(let peer, let action):
            if let peer = number(peer), let action = action.renumberingPeers(number) {
                .sharing(peer: peer, action)
            } else {
                nil
            }
        case .process(let peer, let action): number(peer).map { .process(peer: $0, action) }
        case .disk(let peer, let action): number(peer).map { .disk(peer: $0, action) }
        case .join(let inviter): number(inviter).map { .join(inviter: $0) }
        case .pair(let inviter, let trouble): number(inviter).map { .pair(inviter: $0, trouble) }
        case .leave(let peer): number(peer).map { .leave(peer: $0) }
        }
    }

    /// With each object as `number` says.
    func renumberingObjects(_ number: (Int) -> Int) -> Action {
        switch self {
        case .write(let peer, let steps): .write(peer: peer, steps.map { $0.renumberingObjects(number) })
        case .history(let peer, .bringBack(let object)): .history(peer: peer, .bringBack(number(object)))
        case .history(let peer, .forget(let object, let name)):
            .history(peer: peer, .forget(number(object), name: name))
        case .branch(let peer, .write(let branch, let steps)):
            .branch(peer: peer, .write(branch, steps.map { $0.renumberingObjects(number) }))
        case .sharing(let peer, let action): .sharing(peer: peer, action.renumberingObjects(number))
        case .hostile(let peer, let victim, let action):
            .hostile(peer: peer, victim: victim, action.renumberingObjects(number))
        default: self
        }
    }
}

extension NetworkAction {
    fileprivate func renumberingPeers(_ number: (Int) -> Int?) -> NetworkAction? {
        func both(_ left: Int, _ right: Int, _ action: (Int, Int) -> NetworkAction) -> NetworkAction? {
            guard let left = number(left), let right = number(right), left != right else { return nil }
            return action(left, right)
        }
        switch self {
        case .partition(let groups):
            var seen: Set<Int> = []
            let left = groups.map { group in group.compactMap(number).filter { seen.insert($0).inserted } }
            let filled = left.filter { !$0.isEmpty }
            return filled.count < 2 ? nil : .partition(filled)
        case .healPartition: return self
        case .stall(let left, let right, let length): return both(left, right) { .stall($0, $1, length) }
        case .halfOpen(let from, let to, let length): return both(from, to) { .halfOpen(from: $0, to: $1, length) }
        case .reset(let left, let right): return both(left, right) { .reset($0, $1) }
        case .cut(let from, let to, let count):
            return both(from, to) { .cut(from: $0, to: $1, afterByteCount: count) }
        case .oneSidedCut(let first, let second, let delay):
            return both(first, second) { .oneSidedCut($0, $1, delay) }
        case .truncate(let from, let to): return both(from, to) { .truncate(from: $0, to: $1) }
        case .flipBit(let from, let to, let bit): return both(from, to) { .flipBit(from: $0, to: $1, bit: bit) }
        case .refuseDials(let peer, let length): return number(peer).map { .refuseDials(to: $0, length) }
        case .impersonate(let whom, let by, let length): return both(whom, by) { .impersonate($0, by: $1, length) }
        case .dialTogether(let left, let right): return both(left, right) { .dialTogether($0, $1) }
        }
    }
}

extension HostileAction {
    fileprivate func renumberingPeers(_ number: (Int) -> Int?) -> HostileAction? {
        switch self {
        case .equivocate(let change, let other, let otherStep, let back):
            number(other).map { .equivocate(change, other: $0, otherStep, back: back) }
        case .declare(let chain, let peer, let role): number(peer).map { .declare(chain, about: $0, role) }
        default: self
        }
    }

    fileprivate func renumberingObjects(_ number: (Int) -> Int) -> HostileAction {
        self.mapping { change in
            HostileChange(chain: change.chain.renumberingObjects(number), step: change.step.renumberingObjects(number))
        } and: {
            $0.renumberingObjects(number)
        }
    }

    /// With each step of what it writes as `change` makes it.
    func mappingSteps(_ change: (WorkStep) -> WorkStep) -> HostileAction {
        self.mapping({ HostileChange(chain: $0.chain, step: change($0.step)) }, and: change)
    }

    private func mapping(
        _ mapped: (HostileChange) -> HostileChange,
        and change: (WorkStep) -> WorkStep
    ) -> HostileAction {
        switch self {
        case .write(let written): return .write(mapped(written))
        case .equivocate(let written, let other, let step, let back):
            return .equivocate(mapped(written), other: other, change(step), back: back)
        case .name(let written): return .name(mapped(written))
        case .orphan(let written): return .orphan(mapped(written))
        case .stampAhead(let written, let milliseconds): return .stampAhead(mapped(written), milliseconds: milliseconds)
        case .backdate(let written): return .backdate(mapped(written))
        case .fork(let written, let count): return .fork(mapped(written), count: count)
        case .spoil(let spoiling, let written): return .spoil(spoiling, mapped(written))
        case .declare(let chain, let peer, let role):
            let other = mapped(HostileChange(chain: chain, step: .twins)).chain
            return .declare(other, about: peer, role)
        case .replay, .withhold, .claim, .restamp, .reverse, .garble, .dawdle, .flood, .stay: return self
        }
    }

    /// The steps of what it writes.
    package var steps: [WorkStep] {
        var steps: [WorkStep] = []
        _ = self.mappingSteps { step in
            steps.append(step)
            return step
        }
        return steps
    }
}

extension HostileChainName {
    fileprivate func renumberingObjects(_ number: (Int) -> Int) -> HostileChainName {
        HostileChainName(self.number, in: self.object.map(number))
    }
}

extension WorkStep {
    fileprivate func renumberingObjects(_ number: (Int) -> Int) -> WorkStep {
        switch self {
        case .create(let object, let parent): .create(number(object), parent: parent.map(number))
        case .set(let object, let property): .set(number(object), property: property)
        case .unset(let object, let property): .unset(number(object), property: property)
        case .assign(let object, let name, let text): .assign(number(object), name: name, text: text)
        case .clear(let object, let name): .clear(number(object), name: name)
        case .move(let object, let parent): .move(number(object), parent: parent.map(number))
        case .delete(let object): .delete(number(object))
        case .twins: .twins
        case .insert(let parent, let sibling): .insert(under: number(parent), before: sibling.map(number))
        case .fill(let parent, let count): .fill(number(parent), count: count)
        case .spread(let object, let count, let byteCount):
            .spread(number(object), count: count, nameByteCount: byteCount)
        }
    }

    /// The objects in it, in the order in which they are written.
    var objects: [Int] {
        var objects: [Int] = []
        _ = self.renumberingObjects { object in
            objects.append(object)
            return object
        }
        return objects
    }
}
