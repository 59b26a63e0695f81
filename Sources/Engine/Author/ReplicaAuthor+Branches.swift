internal import CRDTCore

/// What a change of a branch says of the others.
extension ReplicaAuthor {
    /// The other timelines of changes that are to be named, of which nobody else whom they name has merged these.
    ///
    /// That is so for what a branch begins with. `statements`: what is said of named changes in any case. `all`:
    /// whether those count too that others have merged, since not one change names all of them.
    func timelines(
        of news: [Point],
        besides branch: BranchID?,
        _ statements: [Edit],
        all: Bool,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> [BranchID?] {
        var known: Set<BranchID?> = [branch]
        var closed: Set<BranchID?> = []
        for case .branch(let statement) in statements {
            if case .merges(let other) = statement { known.insert(other) }
            if case .closes(let other) = statement { closed.insert(other) }
        }
        var (others, merged): ([SegmentPoint], SeenSegments) = ([], SeenSegments())
        for point in news {
            guard let place = try transaction.place(of: point), place.sequence > 0 else { continue }
            if known.contains(transaction.progress(of: place.segment).branch) {
                if !all { merged.formUnion(try transaction.context(at: place)) }
            } else {
                others.append(place)
            }
        }
        others.removeAll { $0.sequence <= merged[$0.segment] }
        let timelines = Set(others.map { transaction.progress(of: $0.segment).branch })
            .subtracting(known).subtracting(closed)
        return timelines.sorted { $0.isListed(before: $1) }
    }
}

extension Edit {
    /// Whether it says something about the changes that its change names.
    var isAboutNamedChanges: Bool {
        switch self {
        case .branch(.merges), .branch(.closes): true
        default: false
        }
    }
}

extension BranchID? {
    /// The main timeline, which is nil, comes first, and then the branches by their ids.
    func isListed(before other: BranchID?) -> Bool {
        guard let other else { return false }
        return self.map { $0 < other } ?? true
    }
}
