internal import CRDTCore
internal import NIOHTTP1
internal import PeerdKit

/// An object as a client names it: by its id, whole or abbreviated.
enum ObjectReference {
    /// The id that a text names.
    ///
    /// A whole id is taken as it is; whether there is such an object shows later. An abbreviated one must fit exactly
    /// one object.
    ///
    /// `moment`: when it is looked for; nil for now.
    static func id(_ text: String, in workspace: Workspace, at moment: Moment? = nil) async throws -> ObjectID {
        if let id = ObjectID(text: text) { return id }
        if moment != nil { return try await self.object(text, in: workspace, at: moment).id }
        let found = try await workspace.objects(beginningWith: text)
        guard let first = found.first, found.count == 1 else { return try await self.found(text, in: workspace) }
        return first
    }

    /// Looks for a visible object again, and says why it is not to be found.
    private static func found(_ text: String, in workspace: Workspace) async throws -> ObjectID {
        try await workspace.reading { transaction in
            let found: FoundObject = try ObjectLookup.find(text, in: &transaction)
            return found.id
        }
    }

    /// The object that a text names.
    ///
    /// `moment`: when it is looked for; nil for now.
    static func object(_ text: String, in workspace: Workspace, at moment: Moment?) async throws -> Object {
        guard let moment else { return try await self.object(text, in: workspace) }
        return try await workspace.reading(at: moment) { state in
            let found: FoundObject = try ObjectLookup.find(text, in: &state)
            return try Object(found.index, in: &state)
        }
    }

    /// The object that a text names now.
    static func object(_ text: String, in workspace: Workspace) async throws -> Object {
        if let object = try await workspace.object(try await self.id(text, in: workspace)) { return object }
        // It may have come in this moment.
        let id = try await self.found(text, in: workspace)
        guard let object = try await workspace.object(id) else {
            throw Problem.noSuchObject("There is no object \(text).")
        }
        return object
    }

    /// The parent that a text names; nil for the root.
    static func parent(_ text: String, in workspace: Workspace, at moment: Moment?) async throws -> ObjectID? {
        text == "root" ? nil : try await self.id(text, in: workspace, at: moment)
    }
}

extension Request {
    /// The moment that a request is about; nil for now.
    var moment: Moment? {
        get throws { try self.head.query.one("at").map { try Moment($0) } }
    }
}
