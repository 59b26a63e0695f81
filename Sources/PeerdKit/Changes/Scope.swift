internal import CRDTCore

/// A choice of objects to observe, or to look for conflicts in.
public enum Scope: Hashable, Sendable {
    /// All objects of the workspace.
    case everything
    /// A single object, whether it exists or not.
    case object(ObjectID)
    /// The object and everything below it, as the tree is at each moment.
    case subtree(ObjectID)
    /// The objects of a query; its order is ignored.
    case query(Query)

    /// A hash of the scope, the same in every process, by which a token of another scope is recognised.
    var digest: UInt64 {
        var bytes: [UInt8] = []
        switch self {
        case .everything: bytes.append(0)
        case .object(let id):
            bytes.append(1)
            id.bytes.append(to: &bytes)
        case .subtree(let id):
            bytes.append(2)
            id.bytes.append(to: &bytes)
        case .query(let query):
            bytes.append(3)
            query.appendFilter(to: &bytes)
        }
        // FNV-1a: nobody gains by a collision, who has both scopes.
        return bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }
}

extension Query {
    /// Appends what decides which objects the query has.
    fileprivate func appendFilter(to bytes: inout [UInt8]) {
        switch self.scope {
        case .all: bytes.append(0)
        case .type(let type):
            bytes.append(1)
            type.appendCounted(to: &bytes)
        case .children(let parent):
            bytes.append(parent == nil ? 2 : 3)
            parent?.bytes.append(to: &bytes)
        }
        bytes.append(self.kind == nil ? 0 : 1)
        self.kind?.appendCounted(to: &bytes)
        for filter in self.filters {
            filter.name.appendCounted(to: &bytes)
            let value = filter.value.encoded
            bytes.appendVarint(UInt64(value.count))
            bytes += value
        }
        // Neither is a length, so these are not taken for one more filter.
        for (tag, text) in [(UInt64.max, self.type), (UInt64.max - 1, self.text)] {
            guard let text else { continue }
            bytes.appendVarint(tag)
            text.appendCounted(to: &bytes)
        }
    }
}

extension String {
    fileprivate func appendCounted(to bytes: inout [UInt8]) {
        bytes.appendVarint(UInt64(self.utf8.count))
        bytes += self.utf8
    }
}
