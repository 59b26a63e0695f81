internal import Foundation
internal import PeerdKit
internal import Synchronization

extension ExchangeRoutes {
    /// Takes in objects of a file.
    func importObjects(_ request: Request) async throws -> Work<ImportAnswer> {
        try request.requireJSON()
        let branch = try await request.branch(in: self.workspace)
        return Work { progress in
            // Read within the work, so that a client hears of it while its file is on the way. Its objects are read in
            // another order than they come, so it is kept in a nameless file.
            let directory = self.workspace.paths.directory
            let descriptor = NamelessFile.open(in: directory)
            guard descriptor >= 0 else {
                throw PrivateFile.failure("A temporary file in \(directory)", "cannot be made")
            }
            defer { close(descriptor) }
            let byteCount = try await Self.fill(descriptor, with: request.body, directory)
            let text = ImportText(file: descriptor, byteCount: byteCount)
            let done = Mutex<Workspace.ImportReport?>(nil)
            do {
                let report = try await self.workspace.importObjects(from: text, on: branch) { report in
                    done.withLock { $0 = report }
                    progress("imported \(report.objectCount) of \(report.totalCount) objects")
                }
                return ImportAnswer(objects: report.objectCount, notes: report.notes)
            } catch {
                guard let report = done.withLock({ $0 }) else { throw error }
                let total = PlainText.count(report.totalCount, "object")
                let part = """
                    Of \(total), \(report.objectCount) were imported, parents before children; importing the file \
                    again adds the rest.
                    """
                var problem = Problem(error)
                problem.message += " \(part)"
                problem.detail += " \(part)"
                throw problem
            }
        }
    }

    private static func fill(_ file: Int32, with body: RequestBody, _ directory: String) async throws -> Int {
        var byteCount = 0
        while let piece = try await body.next() {
            byteCount += piece.count
            guard byteCount <= APILimits.importByteCountMax else {
                throw Problem.tooLarge(byteCountMax: APILimits.importByteCountMax)
            }
            var rest = piece[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
                guard count > 0 || errno == EINTR else {
                    throw PrivateFile.failure("A temporary file in \(directory)", "cannot be written")
                }
                rest = rest.dropFirst(max(0, count))
            }
        }
        return byteCount
    }
}
