/// Erasures that are not done yet.
extension MemoryTransaction {
    package mutating func addErasure(_ erasure: PendingErasure) {
        let known = self.erasures[erasure.key]?[erasure.change.segment]
        guard known.map({ $0.erasure.change.sequence < erasure.change.sequence }) ?? true else { return }
        self.erasures[erasure.key, default: [:]][erasure.change.segment] = (erasure, nil)
    }

    package mutating func removeErasure(_ erasure: PendingErasure) {
        self.erasures[erasure.key]?[erasure.change.segment] = nil
        if self.erasures[erasure.key]?.isEmpty ?? false { self.erasures[erasure.key] = nil }
    }

    package mutating func erasures(after key: RegisterKey?) -> [PendingErasure] {
        let keys = self.erasures.filter { entry in
            entry.value.values.contains { $0.due == nil } && key.map { $0.packed < entry.key.packed } ?? true
        }.keys
        guard let first = keys.min(by: { $0.packed < $1.packed }), let found = self.erasures[first] else { return [] }
        return found.values.filter { $0.due == nil }.map(\.erasure)
            .sorted { $0.change.segment.rawValue < $1.change.segment.rawValue }
    }

    package mutating func delayErasure(_ erasure: PendingErasure, until time: WallTime) {
        self.erasures[erasure.key]?[erasure.change.segment]?.due = time
    }

    package mutating func delayErasures(of segment: SegmentIndex, until time: WallTime) {
        for key in self.erasures.keys where self.erasures[key]?[segment]?.due != nil {
            self.erasures[key]?[segment]?.due = time
        }
    }

    package mutating func releaseErasures(dueBy time: WallTime, of segments: [SegmentIndex]) {
        for (key, entries) in self.erasures {
            for (segment, entry) in entries {
                guard let due = entry.due, due <= time || segments.contains(segment) else { continue }
                self.erasures[key]?[segment]?.due = nil
                self.erasures[key]?[segment]?.erasure.isReleased = true
            }
        }
    }

    package mutating func waitingErasures() -> [WaitingErasures] {
        var found: [SegmentIndex: WaitingErasures] = [:]
        for (segment, entry) in self.erasures.values.flatMap({ $0 }) {
            guard let due = entry.due else { continue }
            var waiting = found[segment] ?? WaitingErasures(segment: segment, count: 0, due: due)
            waiting.count += 1
            waiting.due = min(waiting.due, due)
            found[segment] = waiting
        }
        return found.values.sorted { $0.segment.rawValue < $1.segment.rawValue }
    }
}
