package import CRDTCore
internal import NIOHTTP1
internal import PeerdKit

/// An object that a client names.
package struct FoundObject: Hashable, Sendable {
    package var id: ObjectID
    package var index: ObjectIndex
}

/// Finds objects by their ids, whole or abbreviated as in git.
package enum ObjectLookup {
    /// Candidates that an error message lists.
    private static let listedCountMax = 5

    /// The visible object that a text names.
    ///
    /// With `includingDeleted` a whole id may also name an object that is deleted.
    package static func find(
        _ text: String,
        includingDeleted: Bool = false,
        in transaction: inout some StateReading
    ) throws -> FoundObject {
        if let id = ObjectID(text: text) {
            guard let index = try transaction.existingObjectIndex(of: id) else { throw self.unknown(text) }
            if try includingDeleted || transaction.object(index).isVisible { return FoundObject(id: id, index: index) }
            throw Problem.noSuchObject(try self.absence(of: id, in: &transaction))
        }
        try self.checkForm(text)
        guard let range = IdentifierRange(prefix: text) else { throw self.unknown(text) }
        let found = try self.candidates(range, in: &transaction)
        guard let first = found.first else { throw self.unknown(text) }
        guard found.count == 1 else { throw self.ambiguous(text, found) }
        return first
    }

    /// The object that a text names.
    ///
    /// `moment`: when it is looked for; nil for now.
    static func object(_ text: String, in workspace: Workspace, at moment: Moment? = nil) async throws -> Object {
        try await workspace.readingBriefly(at: moment) { state in
            try Object(try self.find(text, in: &state).index, in: &state)
        }
    }

    /// The id that a text names.
    ///
    /// A whole id is taken as it is; whether there is such an object shows later. An abbreviated one must fit exactly
    /// one object.
    static func id(_ text: String, in workspace: Workspace, at moment: Moment? = nil) async throws -> ObjectID {
        if let id = ObjectID(text: text) { return id }
        return try await workspace.readingBriefly(at: moment) { try self.find(text, in: &$0).id }
    }

    /// The same for a text that may also name an object that is deleted, by its whole id.
    static func idOfAny(_ text: String, in workspace: Workspace, at moment: Moment? = nil) async throws -> ObjectID {
        try await workspace.reading(at: moment) { try self.find(text, includingDeleted: true, in: &$0).id }
    }

    /// Throws if a text cannot name any object.
    package static func checkForm(_ text: String) throws(Problem) {
        guard IdentifierRange(prefix: text) == nil else { return }
        throw .noSuchObject(
            "\"\(text)\" is not an object id; write a UUID, or at least its first "
                + "\(IdentifierRange.digitCountMin) digits."
        )
    }

    /// Visible objects within a range of ids, up to one more than a message lists.
    private static func candidates(
        _ range: IdentifierRange,
        in transaction: inout some StateReading
    ) throws -> [FoundObject] {
        var found: [FoundObject] = []
        // The first id of the range may be one itself.
        if let index = try transaction.existingObjectIndex(of: range.first), try transaction.object(index).isVisible {
            found.append(FoundObject(id: range.first, index: index))
        }
        for index in try transaction.visibleObjects(after: range.first, limit: self.listedCountMax + 1) {
            let id = try transaction.object(index).id
            guard id <= range.last, found.count <= self.listedCountMax else { break }
            found.append(FoundObject(id: id, index: index))
        }
        return found
    }

    /// Why an object that the log names does not show.
    private static func absence(of id: ObjectID, in transaction: inout some StateReading) throws -> String {
        if let state = transaction as? WorkspaceState, !state.isPresent {
            return "The object \(id) was not there at that moment."
        }
        for segment in transaction.segmentIndices {
            guard transaction.progress(of: segment).isPending else { continue }
            return "The object \(id) is deleted, or made by a change that waits; see \"peerd status\"."
        }
        return "The object \(id) is deleted."
    }

    private static func unknown(_ text: String) -> Problem { .noSuchObject("There is no object \(text).") }

    private static func ambiguous(_ text: String, _ found: [FoundObject]) -> Problem {
        let listed = found.prefix(self.listedCountMax).map(\.id.description).joined(separator: ", ")
        let more = found.count > self.listedCountMax ? " and others" : ""
        return Problem(
            .conflict,
            "ambiguous-id",
            "\"\(text)\" matches \(listed)\(more); write more digits.",
            advice: "Write more digits."
        )
    }
}

extension Request {
    /// The moment that a request is about; nil for now.
    var moment: Moment? {
        get throws { try self.head.query.one("at").map { try Moment($0) } }
    }
}
