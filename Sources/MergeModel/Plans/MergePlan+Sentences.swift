internal import CRDTCore

extension MergePlan {
    /// The plan in words, one step a line.
    package var sentences: [String] {
        var lines = self.fastPeer.map { ["the clock of peer \($0) is far ahead"] } ?? []
        if self.traits.contains(.coarseClocks) { lines.append("clocks show whole seconds") }
        if self.traits.contains(.lookalikes) { lines.append("properties have names that look alike") }
        if self.traits.contains(.rights) { lines.append("users grant and remove") }
        if self.traits.contains(.branches) { lines.append("two of three chains are on branches") }
        if self.traits.contains(.introducedLate) { lines.append("peers introduce themselves in their first change") }
        if self.traits.contains(.clocksSetBack) { lines.append("the clocks of receivers are set back now and then") }
        lines += self.steps.map { self.sentence($0) }
        return lines + ["everything that is missing comes to all peers"]
    }

    private func sentence(_ step: MergeStep) -> String {
        switch step {
        case .write(let peer, let pause, let edits):
            let words = edits.map { $0.words(self.traits) }.joined(separator: "; ")
            return "peer \(peer) writes\(pause > 0 ? ", \(pause) ms later" : ""): \(words)"
        case .deliver(let peer, let chain, let count):
            return "peer \(peer) gets the next \(count) changes of \(self.writer(of: chain))"
        case .synchronise(let peer, let other): return "peer \(peer) gets all that peer \(other) has"
        case .repeated(let peer, let chain, let number):
            return "peer \(peer) is handed change \(number) of \(self.writer(of: chain))"
        case .backUp(let peer): return "the database of peer \(peer) is copied"
        case .restore(let peer, let other):
            let copy = peer == other ? "the copy" : "the copy of that of peer \(other)"
            return "the database of peer \(peer) is replaced by \(copy)"
        case .setClock(let peer, .aheadBy(let seconds)): return "the clock of peer \(peer) is set \(seconds) s ahead"
        case .setClock(let peer, let clock):
            let words = clock == .right ? "right" : clock == .ahead ? "ahead" : "behind"
            return "the clock of peer \(peer) is set \(words)"
        case .reopen(let peer): return "peer \(peer) opens a new replica"
        case .lie(let peer, let lie): return "the next change of peer \(peer) lies: \(lie.kind)"
        case .wait(let seconds): return "\(seconds) s pass"
        }
    }

    private func writer(of chain: Int) -> String { chain < self.peerCount ? "peer \(chain)" : "chain \(chain)" }
}

extension PlannedEdit {
    /// The edit in words.
    fileprivate func words(_ traits: MergePlan.Traits) -> String {
        if case .restamp(let chain, let first, let last) = self {
            return "restamp peer \(chain) from sequence \(first) to change \(last)"
        }
        let nobody = ReplicaID(bytes: Bytes16(high: 0, low: 0))
        return ModelWords.short(self.edit(traits, replica: { _ in nobody }, change: { _, _ in nil }))
    }
}
