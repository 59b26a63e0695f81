internal import CRDTCore
internal import NIOHTTP1
internal import PeerdKit
internal import Persistence

/// Lists whose elements are sent one a line, so that neither side holds all of them.
///
/// Those of objects show one moment.
struct LineRoutes: Sendable {
    let workspace: Workspace

    var routes: [Route] {
        [Route(.GET, "/api/objects/{id}/export", query: .only(["property", "at"])) { try await self.export($0) }]
    }

    /// The children of an object, or of the root.
    func children(_ request: Request) async throws -> Response {
        try await self.objects(request, try ObjectFields(request.head.query)) { object, _ in object }
    }

    /// Everything below an object, or all: each object before what is below it, with its depth, and whether it is the
    /// last among its siblings.
    func tree(_ request: Request) async throws -> Response {
        let fields = try ObjectFields(request.head.query)
        let includesTop = try request.head.query.flag("top")
        let depthMax = try request.head.query.number("depth", in: 0...1_000_000) ?? .max
        return try await self.objects(request, fields, includesTop: includesTop, depthMax: depthMax) { $0.with($1) }
    }

    /// Objects below the one that a request names, or below the root, in the order of a tree.
    private func objects(
        _ request: Request,
        _ fields: ObjectFields,
        includesTop: Bool = false,
        depthMax: Int = 0,
        _ line: @escaping @Sendable (JSON, TreePlace) -> JSON
    ) async throws -> Response {
        let (name, moment) = (request.parameters.first, try request.moment)
        try await self.check(name, at: moment)
        return LineStream.response { writer in
            try await self.workspace.reading(at: moment, to: { try await writer.write($0) }) { transaction, put in
                let top = try name.map { try ObjectLookup.find($0, in: &transaction) }
                var lines = LineBuffer()
                var levels = [ChildPages(of: top?.index)]
                if includesTop, let top { levels = [ChildPages(only: top.index)] }
                while !levels.isEmpty {
                    let depth = levels.count - 1
                    guard let (child, isLast) = try levels[depth].next(in: &transaction) else {
                        levels.removeLast()
                        continue
                    }
                    let object = try fields.json(of: child, in: &transaction)
                    try lines.add(line(object, TreePlace(depth: depth, isLast: isLast))).map(put)
                    if depth < depthMax, try transaction.showsAnything(below: child) {
                        levels.append(ChildPages(of: child))
                    }
                }
                try put(lines.rest())
            }
        }
    }

    /// An object in the form of an export, and who made it; with a parameter `property`, with that property alone.
    private func export(_ request: Request) async throws -> Shaped<ExportedObject, ExportedProperty> {
        let (name, property) = (request.parameters[0], try request.head.query.one("property"))
        let json = try await self.workspace.reading(at: try request.moment) { state in
            try Self.export(name, property, of: &state)
        }
        return Shaped(Response(json))
    }

    private static func export(
        _ name: String,
        _ property: String?,
        of state: inout some StateReading
    ) throws -> JSON {
        let found = try ObjectLookup.find(name, in: &state)
        let segment = try state.object(found.index).creation?.write.segment
        let author = segment.flatMap { state.segment($0).introduction?.deviceName }
        let missing = try state.missingProperties(of: found.index)
        guard let property else {
            return try StateExport.json(of: found.index, in: &state)
                .with(ExportedObject.Author(createdBy: author, missing: missing))
        }
        guard let value = try state.property(property, of: found.index) else {
            throw Problem.noSuchProperty(property, of: found.id, isMissing: missing.contains(property))
        }
        let properties = JSON.object([ExactText(property): value.json])
        return JSON(ExportedProperty(id: found.id.description, createdBy: author, properties: properties))
    }

    /// All conflicts, then the moves without effect; with a parameter `summaries`, each with that of its object.
    func conflicts(in scope: Scope, _ request: Request) async throws -> Response {
        let withSummaries = try request.head.query.flag("summaries")
        let conflicts = try await self.workspace.conflicts(in: scope)
        let moves = try await self.workspace.movesWithoutEffect(in: scope)
        return LineStream.response { writer in
            func send(_ line: ConflictLine, _ object: ObjectID) async throws {
                var line = line
                if withSummaries {
                    line.object = try await self.workspace.reading { transaction in
                        // It may be gone by now.
                        guard let index = try transaction.existingObjectIndex(of: object) else { return .null }
                        return JSON(try ObjectSummary(of: index, in: &transaction))
                    }
                }
                try await writer.write(LineStream.line(line))
            }
            for conflict in conflicts {
                try await send(ConflictLine(conflict: ConflictAnswer(conflict)), conflict.object)
            }
            for move in moves {
                try await send(ConflictLine(moveWithoutEffect: MoveWithoutEffectAnswer(move)), move.object)
            }
        }
    }

    /// The log in the order of its chains, each operation with all that is stored of it.
    ///
    /// What is written meanwhile is not waited for.
    func log(of name: String?, _ request: Request) async throws -> Response {
        var id: ObjectID?
        if let name { id = try await ObjectLookup.idOfAny(name, in: self.workspace) }
        let object = id
        return LineStream.response { writer in
            var lines = LineBuffer()
            for try await entry in self.workspace.log(of: object) {
                guard let piece = lines.add(LogEntryAnswer(entry, isWhole: true)) else { continue }
                try await writer.write(piece)
            }
            try await writer.write(lines.rest())
        }
    }

    /// Throws if there is no object of a name, or no such moment.
    private func check(_ name: String?, at moment: Moment?) async throws {
        guard name != nil || moment != nil else { return }
        _ = try await self.workspace.reading(at: moment) { transaction in
            try name.map { try ObjectLookup.find($0, in: &transaction) }
        }
    }
}

extension Problem {
    /// `isMissing`: whether it has one, whose value has not come to this machine.
    static func noSuchProperty(_ name: String, of object: ObjectID, isMissing: Bool) -> Problem {
        if isMissing {
            return Problem(
                .notFound,
                "no-such-property",
                "The value of property \"\(name)\" of \(object) has not come to this machine.",
                advice: "Unless it was erased, wait until a peer sends it; or write the property."
            )
        }
        return Problem(
            .notFound,
            "no-such-property",
            "\(object) has no property \"\(name)\".",
            advice: "Read the object to see which it has."
        )
    }
}
