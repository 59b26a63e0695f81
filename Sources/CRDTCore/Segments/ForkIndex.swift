/// Where the changes of forks are, by their names.
///
/// A chain with few segments is looked through. A member can give his chain any number of forks, and each lookup would
/// cost as much as there are: those of such a chain are found here. It is made when it is first needed, from the log.
package struct ForkIndex: Sendable {
    private var tables: [ReplicaID: [Key: SegmentIndex]] = [:]
    /// Further changes with a name that is in `tables`: it takes 2^32 attempts to make two.
    private var namesakes: [ReplicaID: [Key: [SegmentIndex]]] = [:]

    private struct Key: Hashable {
        var sequence: UInt64
        var name: ChangeName
    }

    package init() {}

    package func contains(_ id: ReplicaID) -> Bool { self.tables[id] != nil }

    /// Begins the index of a chain, which has nothing in it.
    package mutating func begin(_ id: ReplicaID) { self.tables[id] = [:] }

    /// Adds a change on a fork, if its chain has an index.
    package mutating func add(_ hash: Hash256, at place: SegmentPoint, of id: ReplicaID) {
        guard self.tables[id] != nil else { return }
        let key = Key(sequence: place.sequence, name: ChangeName(hash))
        if self.tables[id]?[key] == nil {
            self.tables[id]?[key] = place.segment
        } else {
            self.namesakes[id, default: [:]][key, default: []].append(place.segment)
        }
    }

    /// The changes on forks that have a name, in the order in which they were stored.
    package func places(of point: Point) -> [SegmentPoint] {
        let key = Key(sequence: point.sequence, name: point.name)
        guard let first = self.tables[point.replica]?[key] else { return [] }
        let others = self.namesakes[point.replica]?[key] ?? []
        return ([first] + others).map { SegmentPoint(segment: $0, sequence: point.sequence) }
    }
}

extension StoreTransaction {
    /// The stored changes with a name: more than one only if somebody took the pains to make two that share it.
    ///
    /// Sequence 0 is the beginning of the chain.
    /// - Complexity: O(1) in the number of forks, but for the first question about a chain with very many.
    package mutating func places(of point: Point) throws(StoreError) -> [SegmentPoint] {
        guard let first = self.firstSegment(of: point.replica) else { return [] }
        if point.sequence == 0 { return [SegmentPoint(segment: first, sequence: 0)] }
        var places: [SegmentPoint] = []
        var next: SegmentIndex? = first
        for _ in 0..<Limits.unnamedForkCountMax {
            guard let segment = next else { return places }
            if try self.has(point, on: segment) {
                places.append(SegmentPoint(segment: segment, sequence: point.sequence))
            }
            next = self.progress(of: segment).next
        }
        guard next != nil else { return places }
        if !self.forks.contains(point.replica) { try self.indexForks(of: point.replica) }
        let isOnFirst = try self.has(point, on: first)
        return (isOnFirst ? [SegmentPoint(segment: first, sequence: point.sequence)] : [])
            + self.forks.places(of: point)
    }

    /// Whether a change with a name is on a segment.
    private mutating func has(_ point: Point, on segment: SegmentIndex) throws(StoreError) -> Bool {
        let progress = self.progress(of: segment)
        guard point.sequence >= progress.firstSequence, point.sequence <= progress.storedSequence else { return false }
        return try self.hash(at: SegmentPoint(segment: segment, sequence: point.sequence)).map { ChangeName($0) }
            == point.name
    }

    /// Adds what was appended to a segment, if it is a fork of a chain that has an index.
    package mutating func indexFork(_ verified: VerifiedRun, on segment: SegmentIndex) {
        let run = verified.run
        guard self.forks.contains(run.replica), self.origin(of: segment) != nil else { return }
        for (position, hash) in verified.hashes.enumerated() {
            let place = SegmentPoint(segment: segment, sequence: run.firstSequence + UInt64(position))
            self.forks.add(hash, at: place, of: run.replica)
        }
    }

    private mutating func indexForks(of id: ReplicaID) throws(StoreError) {
        self.forks.begin(id)
        // The first is looked at in any case, and may be as long as an honest chain that was copied.
        for segment in self.segments(of: id).dropFirst() {
            let progress = self.progress(of: segment)
            guard progress.firstSequence <= progress.storedSequence else { continue }
            for sequence in progress.firstSequence...progress.storedSequence {
                let place = SegmentPoint(segment: segment, sequence: sequence)
                if let hash = try self.hash(at: place) { self.forks.add(hash, at: place, of: id) }
            }
        }
    }
}
