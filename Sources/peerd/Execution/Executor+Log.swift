internal import CRDTCore
internal import PeerdKit

extension Executor {
    /// Prints operations in chain order, branch by branch.
    ///
    /// What is written meanwhile is not waited for.
    func log(_ object: String?, _ output: CommandOutput) async throws {
        let isJSON = output.format.isJSON
        var id: ObjectID?
        if let object {
            let found: FoundObject = try await self.read { transaction in
                try ObjectLookup.find(object, includingDeleted: true, in: &transaction)
            }
            id = found.id
        }
        for try await entry in self.workspace.log(of: id) {
            guard let source = entry.source else { continue }
            if isJSON { try await output.json(source.json) } else { try await output.line(source.text) }
        }
    }
}
