package import CRDTCore
internal import Persistence

/// A part of a tree, in the order in which it is drawn: each object before what is below it.
package struct TreePage: Sendable {
    /// The objects, each with its depth; children of the top have depth 0.
    package var objects: [(object: Object, depth: Int)] = []
    /// Whether there is more behind them.
    package var hasMore = false
    /// Whether the object behind which it should begin has left the tree, so that nobody knows where that is.
    package var hasLostPlace = false
}

extension Workspace {
    /// Reads a part of the tree below an object, or of the whole tree.
    ///
    /// - Parameters:
    ///   - root: the object at the top, which is not part of the result; nil for all.
    ///   - moment: the moment to read; nil for now.
    ///   - last: the last object of the part before; nil for the beginning.
    ///   - depthMax: the deepest level that is read; nil for all.
    ///   - limit: the most objects of the part.
    /// - Returns: the objects, each with its depth.
    /// - Throws: ``PeerdError`` with `closed`, or if the disk fails; `CancellationError`.
    /// - Complexity: O(*n* + *d*) for *n* objects, and *d* levels above the first.
    package func treePage(
        under root: ObjectID?,
        at moment: Moment? = nil,
        after last: ObjectID?,
        depthMax: Int?,
        limit: Int
    ) async throws -> TreePage {
        try await self.reading(at: moment) { transaction in
            var page = TreePage()
            let top = try root.flatMap { try transaction.existingObjectIndex(of: $0) }
            if root != nil, top == nil { return page }
            guard var walk = try TreeWalk(under: top, after: last, depthMax: depthMax, in: &transaction) else {
                page.hasLostPlace = true
                return page
            }
            var byteCount = 0
            while page.objects.count < limit, byteCount < Page.byteCountMax,
                let (index, depth) = try walk.next(in: &transaction)
            {
                let object = try Object(index, in: &transaction)
                byteCount += object.properties.byteCount
                page.objects.append((object, depth))
            }
            page.hasMore = try walk.next(in: &transaction) != nil
            return page
        }
    }
}

/// A walk through a tree, depth first.
private struct TreeWalk {
    private var levels: [ChildPages]
    private let depthMax: Int

    /// Begins at the top, or behind an object; nil if that one is not below the top.
    init?(
        under top: ObjectIndex?,
        after last: ObjectID?,
        depthMax: Int?,
        in transaction: inout some StateReading
    ) throws(StoreError) {
        self.depthMax = depthMax ?? .max
        self.levels = [ChildPages(of: top)]
        guard let last else { return }
        guard let index = try transaction.existingObjectIndex(of: last) else { return nil }
        var levels: [ChildPages] = []
        var next = index
        var watch = CycleWatch<ObjectIndex>()
        while true {
            try watch.pass(next)
            let record = try transaction.object(next)
            guard record.isVisible else { return nil }
            let place = SiblingPlace(position: record.position, id: record.id)
            levels.append(ChildPages(of: record.parent, after: place))
            if record.parent == top { break }
            guard let parent = record.parent else { return nil }
            next = parent
        }
        self.levels = levels.reversed()
        if self.levels.count <= self.depthMax { self.levels.append(ChildPages(of: index)) }
    }

    mutating func next(in transaction: inout some StateReading) throws(StoreError) -> (ObjectIndex, Int)? {
        while !self.levels.isEmpty {
            guard let (child, _) = try self.levels[self.levels.count - 1].next(in: &transaction) else {
                self.levels.removeLast()
                continue
            }
            let depth = self.levels.count - 1
            if depth < self.depthMax, try transaction.showsAnything(below: child) {
                self.levels.append(ChildPages(of: child))
            }
            return (child, depth)
        }
        return nil
    }
}

/// What shows under a parent, one after the other, read in pages.
package struct ChildPages {
    private let parent: ObjectIndex?
    private var page: ArraySlice<ObjectIndex> = []
    private var isWhole = false
    private var last: SiblingPlace?

    package static let pageCount = 256

    /// `last`: the place behind which it begins.
    package init(of parent: ObjectIndex?, after last: SiblingPlace? = nil) {
        self.parent = parent
        self.last = last
    }

    /// One object alone, in the place of children.
    package init(only object: ObjectIndex) {
        self.parent = nil
        self.page = [object]
        self.isWhole = true
    }

    /// The next, and whether it is the last; nil behind that one.
    package mutating func next(
        in transaction: inout some StateReading
    ) throws(StoreError) -> (child: ObjectIndex, isLast: Bool)? {
        if self.page.count <= 1, !self.isWhole {
            let more = try transaction.visibleChildren(of: self.parent, after: self.last, limit: Self.pageCount)
            self.isWhole = more.count < Self.pageCount
            if let end = more.last {
                let record = try transaction.object(end)
                self.last = SiblingPlace(position: record.position, id: record.id)
            }
            self.page += more
        }
        return self.page.popFirst().map { ($0, self.page.isEmpty && self.isWhole) }
    }
}
